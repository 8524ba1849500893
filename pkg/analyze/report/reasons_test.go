package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// groupsOf analyzes a run with all groups of metrics.
func groupsOf(t *testing.T, r export.Reader) Input {
	t.Helper()
	quality := quality.Default()
	rep, err := analyze.Run(t.Context(), r, analyze.Config{Quality: &quality, Economics: &figure.EconomicsConfig{}, Prefix: true, Phases: true})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: "run.json", Report: rep}
}

// A part of a report says each reason once: one line for a group without any figure, else one line for each reason.
func TestReasonsOnce(t *testing.T) {
	const start = 1_700_000_000_000_000_000
	q := memrun.OpenAI(`{"choices":[{"message":{"content":"Hi"}}]}`)
	q.StartNS, q.Responses[0].RecvNS = start, start+80e6
	in := groupsOf(t, memrun.New("openai", []export.Request{q}))
	want := []string{
		"fluidity index, fluid token rate, tokens in time, smooth goodput, stalls, requests with a stall, stall share: n/a (no streamed answer)",
		"tokens per event: n/a (no source counts the tokens apart from their events)",
		"output tokens/s/GPU: n/a (the number of GPUs is not known: --gpus)",
		"energy, mean power, energy per output token, energy per token, mean energy per request, output tokens/s/MW: n/a (the file holds no telemetry of GPUs)",
		"prefix cache: n/a (no answer states cached tokens (usage.prompt_tokens_details.cached_tokens))",
		"phases: n/a (no server metric and no answer states it; record with --collect-metrics, or start vLLM with --enable-per-request-metrics; SGLang and Dynamo: record with --ask-server-times)",
	}
	var b strings.Builder
	if err := Table([]Input{in}, Options{})(&b); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ") // lines are broken at the width
	b.Reset()
	if err := Markdown([]Input{in})(&b); err != nil {
		t.Fatal(err)
	}
	markdown := strings.ReplaceAll(b.String(), `\`, "")
	for _, line := range want {
		if strings.Count(text, line) != 1 {
			t.Errorf("%q is not once in the table\n%s", line, text)
		}
		if strings.Count(markdown, "- "+line+"\n") != 1 {
			t.Errorf("%q is not an item of the Markdown\n%s", line, markdown)
		}
		_, why, _ := strings.Cut(line, "n/a ")
		if strings.Count(text, why) != 1 || strings.Count(markdown, why) != 1 {
			t.Errorf("the reason %q is repeated\n%s", why, text)
		}
	}
	const uncounted = "interactivity p90, interactivity p75: n/a (not streamed, and the server states no usage; --tokenizer counts the text)"
	if !strings.Contains(text, uncounted) || !strings.Contains(markdown, "- "+uncounted+"\n") { // the token rates have the same reason
		t.Errorf("%q is missing\n%s", uncounted, text)
	}
	for _, left := range []string{"cached tokens stated by", "network, client and rest"} {
		if strings.Contains(text+markdown, left) {
			t.Errorf("%q, although its group has no figure\n%s", left, text)
		}
	}
}

// Figures with a value come first, in their order, and then the others by their reasons.
func TestFigureLines(t *testing.T) {
	figures := func(whys ...string) (all []figure.Figure) {
		for i, why := range whys {
			all = append(all, figure.Figure{Label: string(rune('a' + i)), Unit: "ns", Value: 2e6, Why: why})
		}
		return all
	}
	for _, tt := range []struct {
		name string
		all  []figure.Figure
		want []string
	}{
		{"none", nil, nil},
		{"values", figures("", ""), []string{"a: 2.000 ms", "b: 2.000 ms"}},
		{"one reason for all", figures("x", "x"), []string{"group: n/a (x)"}},
		{"one reason for some", figures("x", "", "x"), []string{"b: 2.000 ms", "a, c: n/a (x)"}},
		{"two reasons", figures("x", "y", "x"), []string{"a, c: n/a (x)", "b: n/a (y)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, groupLines("group", tt.all, timeFigure(scaleFor(1e6)))); d != "" {
				t.Error(d)
			}
		})
	}
}

// The rest of the time is left out only if no phase is known.
func TestPhaseLines(t *testing.T) {
	phases := append([]figure.Figure{}, figure.PhaseFigures[:]...)
	phases[0].Why, phases[3].Why = "no queue", "one of the others is not known"
	phases[1].Value, phases[2].Value = 3e6, 40e6
	for i := range phases[4:] {
		phases[4+i].Why = "no answer"
	}
	want := []string{"prefill: 3.000 ms", "decode: 40.00 ms", "queue: n/a (no queue)", "network, client and rest: n/a (one of the others is not known)", "speculation, cache by level, retractions: n/a (no answer)"}
	if d := cmp.Diff(want, phaseLines(&figure.Phases{Figures: phases}, scaleFor(1e6))); d != "" {
		t.Error(d)
	}
}

// A fluid interval of 1 ns says that every interval is long enough: it shows as 0, beside longer ones too.
func TestFluidIntervalOfAnyLength(t *testing.T) {
	row := func(values ...int64) (cells []string) {
		mean := 0.0
		for _, v := range values {
			mean += float64(v) / float64(len(values))
		}
		m := summary.Metric{Definition: &answer.QualityMetrics[1], Summary: &summary.Summary{Mean: mean}}
		if m.Definition.Metric != answer.FluidInterval {
			t.Fatal(m.Definition.Metric)
		}
		f := rowFormat(m, scaleFor(1e6))
		for _, v := range append([]float64{mean}, floats(values)...) {
			cells = append(cells, f.text(v))
		}
		return cells
	}
	if d := cmp.Diff([]string{"0", "0", "0"}, row(1, 1)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"6.00", "0", "12.00"}, row(1, 12e6)); d != "" {
		t.Error(d)
	}
	ttft := rowFormat(summary.Metric{Definition: &answer.StrictMetrics[0], Summary: &summary.Summary{Mean: 1}}, scaleFor(1e6))
	if got := ttft.text(1); got == "0" {
		t.Error("a TTFT of 1 ns shows as 0")
	}
}

func floats(values []int64) (all []float64) {
	for _, v := range values {
		all = append(all, float64(v))
	}
	return all
}
