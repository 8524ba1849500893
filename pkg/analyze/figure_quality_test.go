package analyze

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// qualityRun returns the requests of package quality's hand-worked vectors, with more of one response.
func qualityRun(single int) *memrun.Reader {
	const ms = 1_000_000
	at := func(start uint64, tokens ...uint64) export.Request {
		for i := range tokens {
			tokens[i] = start + tokens[i]*ms
		}
		return memrun.At(start, tokens...)
	}
	all := []export.Request{at(1000*ms, 80, 120, 160, 230, 300), at(2000*ms, 260, 300, 520, 530, 590)}
	for i := range single {
		all = append(all, at(uint64(3000+i)*ms, 90))
	}
	return memrun.New("", all)
}

func qualityOf(t *testing.T, r *memrun.Reader, cfg Config) *figure.Quality {
	t.Helper()
	q := quality.Default()
	q.FirstTokenNS, q.TokenNS, q.PaceNS, q.StallNS, q.StallFactor = 100e6, 50e6, 60e6, 100e6, 2
	cfg.Quality = &q
	rep, err := Run(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Experiments[0].Quality
}

// By hand, see package quality: 5 + 11 deadlines, 8 misses; 4 of 10 tokens in time. A request of one
// response counts as streamed because others are, and adds a token in time at 90 ms: of the pace of
// 60 ms it is late.
func TestQualityFigures(t *testing.T) {
	for _, tt := range []struct {
		single int
		want   map[string]float64
	}{
		{0, map[string]float64{"fluidity_index": 1 - 8.0/16, "tokens_in_time": 4.0 / 10, "stalls": 1, "stalled_requests": 1, "stall_share": 220.0 / 550}},
		{2, map[string]float64{"fluidity_index": 1 - 8.0/18, "tokens_in_time": 4.0 / 12, "stalls": 1, "stalled_requests": 1, "stall_share": 220.0 / 550}},
	} {
		for name, cfg := range map[string]Config{"as they come": {}, "kept": {Series: true}} {
			q := qualityOf(t, qualityRun(tt.single), cfg)
			if q.Requests != 2+tt.single {
				t.Errorf("%s: %d requests, want %d", name, q.Requests, 2+tt.single)
			}
			for _, f := range q.Figures {
				if want, ok := tt.want[f.Key]; ok && (f.Value != want || f.Why != "") {
					t.Errorf("%s, %d of one response: %s = %v (%s), want %v", name, tt.single, f.Key, f.Value, f.Why, want)
				}
			}
		}
	}
}

// By hand, of the same two requests. They end at 1300 and 2590 ms, 1.59 s after the first start. A reader idles for 20
// and 340 ms of 60 ms a token: 10 − 360/60 = 4 tokens. At 50 ms the first request, half of them, meets all
// deadlines, and at no shorter interval: its fifth token is 220 ms after the first, which was 20 ms early. The file
// states 5 and 15 output tokens, each of 5 events.
func TestQualityRatesByHand(t *testing.T) {
	r := qualityRun(0)
	for i, n := range []int64{5, 15} {
		r.Requests[0][i].Stated = &export.Stated{OutputTokens: &n}
	}
	cfg := quality.Default()
	cfg.FirstTokenNS, cfg.TokenNS, cfg.PaceNS, cfg.Share = 100e6, 50e6, 60e6, 0.5
	rep, err := Run(t.Context(), r, Config{Quality: &cfg})
	if err != nil {
		t.Fatal(err)
	}
	q := rep.Experiments[0].Quality
	want := map[string]float64{
		"smooth_goodput": 4 / 1.59, "fluid_token_rate": 1 / 0.050, "tokens_per_event": 20.0 / 10,
		// 590 ms / 15 tokens is 39.33 ms: p90 = 39.33 + 0.9·20.67 = 57.93 ms, p75 = 54.83 ms.
		"interactivity_p90": 1e3 / (590.0/15 + 0.9*(60-590.0/15)), "interactivity_p75": 1e3 / (590.0/15 + 0.75*(60-590.0/15)),
	}
	for _, f := range q.Figures {
		if w, ok := want[f.Key]; ok && (f.Why != "" || math.Abs(f.Value-w) > 1e-12*w) {
			t.Errorf("%s = %v (%s), want %v", f.Key, f.Value, f.Why, w)
		}
		delete(want, f.Key)
	}
	if len(want) > 0 {
		t.Errorf("no figures %v", want)
	}
	// Gaps 1: 40 and 40 ms; 2 and 3: 40, 70, 220 and 10 ms; 4: 70 and 60 ms.
	positions := []quality.Position{{From: 1, To: 1, N: 2, MeanNS: 40e6}, {From: 2, To: 3, N: 4, MeanNS: 85e6}, {From: 4, To: 7, N: 2, MeanNS: 65e6}}
	if !slices.Equal(q.Positions, positions) {
		t.Errorf("positions %+v, want %+v", q.Positions, positions)
	}
}

// Tokens per event are tokens that events carried. The server counts hidden tokens; it may not say how many.
func TestTokensPerEventOfHiddenTokens(t *testing.T) {
	usage := func(output int, details string) string {
		return fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":%d%s}}\n\n", output, details)
	}
	const hidden = `,"completion_tokens_details":{"reasoning_tokens":100}`
	for _, tt := range []struct {
		name, usage string
		want        float64
		why         string
	}{
		{"all visible", usage(8, ""), 2, ""},
		{"hidden", usage(108, hidden), 2, ""},
		{"hidden, and the server does not say how many", usage(108, ""), 0, figure.WhyUntimed},
	} {
		parts := append(slices.Repeat([]string{delta("two words ")}, 4), tt.usage, done)
		q := qualityOf(t, reader("openai", []export.Request{openaiRequest(parts...), openaiRequest(parts...)}), Config{})
		if f := figure.Find(q.Figures, "tokens_per_event"); f.Value != tt.want || f.Why != tt.why {
			t.Errorf("%s: %v (%s), want %v (%s)", tt.name, f.Value, f.Why, tt.want, tt.why)
		}
		if s := summary.Find(q.Metrics, answer.TokensPerEvent); (s != nil) != (tt.why == "") || s != nil && (s.N != 2 || s.Mean != tt.want) {
			t.Errorf("%s: of requests %+v, want 2 of %v", tt.name, s, tt.want)
		}
	}
}

// The order of the requests does not matter, and keeping them changes nothing.
func TestQualityOrder(t *testing.T) {
	want := qualityOf(t, qualityRun(3), Config{})
	for name, cfg := range map[string]Config{"reversed": {}, "reversed and kept": {Series: true}} {
		r := qualityRun(3)
		all := r.Requests[0]
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
		if got := qualityOf(t, r, cfg); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", name, got, want)
		}
	}
}

// Answers that were not streamed have only a normalized latency, and say why.
func TestQualityMissing(t *testing.T) {
	no := false
	q := qualityOf(t, qualityRun(0), Config{Streaming: &no})
	for _, f := range q.Figures {
		if f.Why == "" {
			t.Errorf("%s has a value: %v", f.Key, f.Value)
		}
	}
	if len(q.Metrics) > 0 || q.Missing != "no streamed answer" {
		t.Errorf("%+v", q)
	}
	r := qualityRun(0)
	for i := range r.Requests[0] {
		tokens := int64(5)
		r.Requests[0][i].Stated = &export.Stated{OutputTokens: &tokens}
	}
	r.Header.Meta = &export.RunMeta{Import: &export.Import{Lacks: []export.Lack{{Part: export.PartStarts, Why: "no starts"}, {Part: export.PartEnds, Why: "no ends"}}}}
	late := qualityOf(t, r, Config{})
	for key, want := range map[string]string{"smooth_goodput": "no starts", "interactivity_p90": "no ends", "interactivity_p75": "no ends"} {
		if f := figure.Find(late.Figures, key); f.Why != want {
			t.Errorf("%+v, want %q", f, want)
		}
	}
	r = qualityRun(0)
	r.Header.Meta = &export.RunMeta{Import: &export.Import{Lacks: []export.Lack{{Part: export.PartGaps, Why: "no gaps"}}}}
	if q := qualityOf(t, r, Config{}); q.Requests != 0 || q.Missing != "no gaps" || q.Figures[0].Why != "no gaps" {
		t.Errorf("%+v", q)
	}
}

// The table is complete: each metric is at its place, with a formula.
func TestQualityMetrics(t *testing.T) {
	for i := range answer.QualityMetrics {
		d := &answer.QualityMetrics[i]
		if int(d.Metric-answer.Fluidity) != i || d.Formula == "" || d.Key() == "" {
			t.Errorf("entry %d: %+v", i, d)
		}
	}
	if answer.QualityMetrics[answer.NumQuality-1].Metric != answer.NormalizedLatency {
		t.Error("metrics of quality are missing")
	}
	for i, f := range figure.QualityFigures {
		if f.Key == "" || f.Label == "" || f.Unit == "" || f.Formula == "" || strings.Contains(f.Key, " ") {
			t.Errorf("figure %d: %+v", i, f)
		}
	}
}

// Gaps of 40 ms and 60 ms. Where each event has one token these are the times per token; five output
// tokens of three events make each time half as long. The mean of both requests is 37.5 ms.
func TestTimesPerToken(t *testing.T) {
	const ms = 1_000_000
	request := func(start uint64, tokens int64) export.Request {
		r := memrun.At(start*ms, (start+80)*ms, (start+120)*ms, (start+180)*ms)
		r.Stated = &export.Stated{OutputTokens: &tokens}
		return r
	}
	plain, several := request(1000, 3), request(2000, 5)
	uncounted := memrun.At(3000*ms, 3080*ms, 3120*ms, 3180*ms)
	for _, tt := range []struct {
		name           string
		all            []export.Request
		n              int
		min, mean, max float64
	}{
		{"one token each", []export.Request{plain, plain}, 4, 40, 50, 60},
		{"several", []export.Request{several}, 2, 20, 25, 30},
		{"one token each, then several", []export.Request{plain, several}, 4, 20, 37.5, 60},
		{"several, then one token each", []export.Request{several, plain}, 4, 20, 37.5, 60},
		{"not counted between", []export.Request{plain, uncounted, plain}, 4, 40, 50, 60},
		{"not counted", []export.Request{uncounted}, 0, 0, 0, 0},
	} {
		s := qualityOf(t, memrun.New("", tt.all), Config{Certified: true, Curve: true}).Metric(answer.ITLPerToken)
		switch {
		case s == nil:
			if tt.n > 0 {
				t.Errorf("%s: no values", tt.name)
			}
		case s.N != tt.n || s.Min != tt.min*ms || s.Mean != tt.mean*ms || s.Max != tt.max*ms || s.Certified != nil || s.Curve != nil:
			t.Errorf("%s: %+v, want %d values, %v, %v, %v ms", tt.name, s, tt.n, tt.min, tt.mean, tt.max)
		}
	}
}
