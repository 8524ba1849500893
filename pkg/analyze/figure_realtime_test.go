package analyze

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// The figures of v1/realtime are the same whether requests are used at once or kept until the whole level is read.
func TestRealtimeFigures(t *testing.T) {
	var requests []export.Request
	for i := range uint64(20) {
		q := memrun.OpenAI(`{"type":"transcription.delta","delta":"a"}`+"\n", `{"type":"transcription.delta","delta":"b"}`+"\n", `{"type":"transcription.done","text":"ab"}`+"\n")
		q.StartNS = 1e15 + (i^1)*1e7 // pairs of requests are not in the order of time
		q.Inputs = export.Fields{{Name: "audio_sent", Value: export.Text(`{"interval_ns":100,"sent_ns":[2,102,209],"commit_ns":210}`)}}
		for k := range q.Responses {
			q.Responses[k].RecvNS = q.StartNS + 300 + 100*uint64(k) + i
		}
		requests = append(requests, q)
	}
	for name, cfg := range map[string]Config{
		"at once":         {},
		"windows":         {Windows: Windows{Every: 50 * time.Millisecond}},
		"an objective":    {SLO: objective(t, "e2el<1s")},
		"with warm-up":    {IncludeWarmup: true},
		"an interval":     {Selection: Selection{Window: &Interval{}}},
		"without pauses":  {Selection: Selection{WithoutPauses: true}},
		"series":          {Series: true},
		"windows, series": {Windows: Windows{Every: 50 * time.Millisecond}, Series: true, MemoryLimit: 1},
	} {
		cfg.Realtime = true
		x := analyzed(t, memrun.New("openai", requests), cfg).Experiments[0].Realtime
		if x.Requests != len(requests) {
			t.Errorf("%s: %d requests, want %d", name, x.Requests, len(requests))
		}
		var got []float64
		for _, f := range x.Figures {
			if got = append(got, f.Value); f.Why != "" {
				t.Errorf("%s: %s is n/a: %s", name, f.Key, f.Why)
			}
		}
		// The last chunk left at 209 ns, 7 ns late; the one before was on time. Deltas came 91 to 110 and 191 to 210 ns after it, and
		// the last message 291 to 310 ns.
		want := []float64{150.5, 206.1, 209.61, 300.5, 308.1, 309.81, 3.5, 7, 7}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
