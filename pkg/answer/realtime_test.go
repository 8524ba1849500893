package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// A request to v1/realtime with text at some times, in ns after its start.
func spoken(sent string, at ...uint64) *export.Request {
	const start = 1_000_000_000_000
	r := &export.Request{ID: 1, HasMeta: true, StartNS: start, Inputs: export.Fields{{Name: "audio_sent", Value: export.Text(sent)}}}
	for i, ns := range at {
		text := `{"type":"transcription.delta","delta":"a"}` + "\n"
		if i == len(at)-1 {
			text = `{"type":"transcription.done","text":"a"}` + "\n"
		}
		r.Responses = append(r.Responses, export.Response{RecvNS: start + ns, Outputs: export.Fields{{Name: "response", Value: export.Text(text)}}})
	}
	return r
}

func TestRealtime(t *testing.T) {
	kind := "openai"
	m := NewMeter(&export.Run{ServiceKind: &kind}, Config{Realtime: true})
	for _, tt := range []struct {
		name string
		r    *export.Request
		want *Realtime
	}{
		{
			"golden", spoken(`{"interval_ns":100,"sent_ns":[2,102,209],"commit_ns":210}`, 1, 2, 101, 150, 300, 400),
			// The first text came before any audio; chunk 1 left on time, chunk 2 7 ns late.
			&Realtime{Deltas: []int64{0, 99, 48, 91}, Final: export.IntOf(191), Late: []int64{0, 7}},
		},
		{"early is not late", spoken(`{"interval_ns":100,"sent_ns":[5,100],"commit_ns":101}`, 120, 130), &Realtime{Deltas: []int64{20}, Final: export.IntOf(30), Late: []int64{0}}},
		{"ended by the server", spoken(`{"interval_ns":100,"sent_ns":[0]}`, 20, 30), &Realtime{Deltas: []int64{20}}},
		{"no audio", spoken(`{"interval_ns":100,"sent_ns":[]}`, 20, 30), nil},
		{"backward", spoken(`{"interval_ns":100,"sent_ns":[9,8]}`, 20, 30), nil},
		{"below 0", spoken(`{"interval_ns":100,"sent_ns":[-2,8]}`, 20, 30), nil},
		{"an interval below 0", spoken(`{"interval_ns":-100,"sent_ns":[2,8]}`, 20, 30), nil},
		{"an interval that overflows", spoken(`{"interval_ns":9223372036854775807,"sent_ns":[2,8,9]}`, 20, 30), nil},
		{"no JSON", spoken(`{`, 20, 30), nil},
	} {
		if d := cmp.Diff(tt.want, m.Measure(tt.r).Realtime); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
	if x := NewMeter(&export.Run{ServiceKind: &kind}, Config{}).Measure(spoken(`{"sent_ns":[1]}`, 2)).Realtime; x != nil {
		t.Errorf("nobody asked for %+v", x)
	}
}
