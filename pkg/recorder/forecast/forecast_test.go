package forecast

import (
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Lengths of answers are a bound only if all entries were looked at: the others may ask for more.
func TestSampledOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		entries int
		want    recorder.Bound
	}{{mostSampled, recorder.AtMost}, {mostSampled + 1, recorder.About}} {
		src := make(workload.List, tt.entries)
		for i := range src {
			src[i].Prompt = &workload.Prompt{Text: "Hello", MaxTokens: 8}
		}
		var d Facts
		if d.Sample(src, TextPerToken, 0); d.Output.Value != 8 || d.Output.Bound != tt.want {
			t.Errorf("%d entries: %v, want %v 8", tt.entries, d.Output, tt.want)
		}
	}
}

// The texts of messages are tokens, their JSON is not.
func TestSampledInput(t *testing.T) {
	t.Parallel()
	for messages, want := range map[string]float64{
		`[{"role":"user","content":"12345678"},{"role":"assistant","content":"1234"}]`: 6,
		`[{"role":"assistant","content":null}]`:                                        18.5,
		`[`:                                                                            0.5,
	} {
		var d Facts
		if d.Sample(workload.List{{Prompt: &workload.Prompt{Messages: []byte(messages)}}}, 2, 0); d.Input.Value != want || d.InputBytes != float64(len(messages)) {
			t.Errorf("%s: %v tokens of %v bytes, want %v", messages, d.Input.Value, d.InputBytes, want)
		}
	}
}

// Every format of an export has sizes of its own.
func TestForecastFormats(t *testing.T) {
	t.Parallel()
	suffixes := strings.FieldsFunc(formats.Suffixes, func(r rune) bool { return r == ',' || r == ' ' })
	for _, suffix := range suffixes {
		if suffix == "or" {
			continue
		}
		if size := sizesFor("x" + suffix); size.suffix != suffix {
			t.Errorf("x%s has the sizes of %s", suffix, size.suffix)
		}
	}
	if size := sizesFor("llama-3.1"); size.suffix != ".json" {
		t.Errorf("a name without a suffix has the sizes of %s", size.suffix)
	}
}

// The time of the runs to come follows from the forecast, or else from the runs that ended.
func TestLater(t *testing.T) {
	t.Parallel()
	took := []time.Duration{10 * time.Second, 20 * time.Second}
	one := recorder.Figure{Value: 7, Bound: recorder.Exact}
	for _, tt := range []struct {
		name string
		got  recorder.Figure
		want recorder.Figure
	}{
		{"before any run", Later(recorder.Figure{}, nil, 2), recorder.Figure{}},
		{"after runs of 10 and 20 s", Later(recorder.Figure{}, took, 2), recorder.Figure{Value: 30, Bound: recorder.About}},
		{"of 7 s each", Later(one, took, 2), recorder.Figure{Value: 14, Bound: recorder.Exact}},
		{"after the last", Later(recorder.Figure{}, took, 0), recorder.Figure{Bound: recorder.Exact}},
	} {
		if tt.got.Value != tt.want.Value || tt.got.Bound != tt.want.Bound {
			t.Errorf("%s: %+v, want %+v", tt.name, tt.got, tt.want)
		}
	}
}

// A time of the forecast is exact unless a word says otherwise, so it is rounded, and finely if it is short.
func TestRoundedTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                        "0 s",
		149 * time.Millisecond:   "0.1 s",
		2700 * time.Millisecond:  "2.7 s",
		3 * time.Second:          "3 s",
		9960 * time.Millisecond:  "10 s",
		59600 * time.Millisecond: "1m00s",
		2 * time.Hour:            "2h00m",
		1<<63 - 1:                "2562047h47m",
	} {
		if got := RoundedTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// The think times of sessions are at least as long as all of them divided by the sessions at a time, of which there are
// no more than the data has. Of a part of the entries they are an estimate.
func TestThinkTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		data Facts
		want recorder.Figure
	}{
		{"conversations", Facts{Entries: 8}, recorder.Figure{Value: 3, Bound: recorder.AtLeast}},
		{"more at a time than there are", Facts{Entries: 8, Sessions: &workload.SessionFacts{Sessions: 2}}, recorder.Figure{Value: 6, Bound: recorder.AtLeast}},
		{"more than at a time", Facts{Entries: 8, Sessions: &workload.SessionFacts{Sessions: 9}}, recorder.Figure{Value: 3, Bound: recorder.AtLeast}},
		{"of a part", Facts{Entries: 8, ThinkingAbout: true}, recorder.Figure{Value: 3, Bound: recorder.About}},
	} {
		tt.data.Thinking = 12 * time.Second
		l := &Load{Config: recorder.Config{Measure: window.Measure{All: true}}, Levels: []load.Level{load.Sessions{N: 4}}, PlaysData: true, Sessions: 4, Runs: 1}
		if got := l.Forecast(&tt.data).Time; got.Value != tt.want.Value || got.Bound != tt.want.Bound {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A bound is never rounded to the side on which it is none.
func TestBoundsRoundOutward(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bound recorder.Bound
		value float64
		want  string
	}{
		{recorder.Exact, 47_050, "47,050 tokens"},
		{recorder.About, 47_450, "47,000 tokens"},
		{recorder.AtMost, 9.2, "10 tokens"},
		{recorder.AtMost, 0.1 * 30, "3 tokens"},
		{recorder.AtMost, 47_050, "47,100 tokens"},
		{recorder.AtMost, 307_200, "308,000 tokens"},
		{recorder.AtMost, 99_960, "100,000 tokens"},
		{recorder.AtMost, 9_994_000, "10.0 M tokens"},
		{recorder.AtMost, 4e9, "4,000 M tokens"},
		{recorder.AtLeast, 11_540, "11,500 tokens"},
		{recorder.AtLeast, 180_695, "180,000 tokens"},
		{recorder.AtLeast, 2_788_179, "2.78 M tokens"},
		{recorder.AtLeast, 999_700, "999,000 tokens"},
	} {
		if got := amount(recorder.Figure{Value: tt.value, Bound: tt.bound}, "token"); got != tt.want {
			t.Errorf("%v %v: %q, want %q", tt.bound, tt.value, got, tt.want)
		}
	}
	for value, want := range map[float64][2]string{79.879: {"1m19s", "1m20s"}, 2.04: {"2 s", "2.1 s"}, 12: {"12 s", "12 s"}} {
		for i, bound := range []recorder.Bound{recorder.AtLeast, recorder.AtMost} {
			if got := RoundedTime(boundTime(recorder.Figure{Value: value, Bound: bound})); got != want[i] {
				t.Errorf("%v %v s: %s, want %s", bound, value, got, want[i])
			}
		}
	}
}
