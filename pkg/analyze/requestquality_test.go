package analyze

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
)

// The two requests of package quality's hand-worked vectors, with parameters 100, 50, 60 ms, stalls
// above 100 ms and two medians. late: 11 deadlines, 8 missed; gaps 40, 220, 10, 60 ms, so that 10 tokens
// of usage in 5 events take 330/9 ms each; 590 ms and 10 tokens are 59 ms a token.
func TestRequestQuality(t *testing.T) {
	const ms = 1_000_000
	measured := func(ttft, e2el int64, gaps []int64, usage int64) *answer.Measured {
		m := &answer.Measured{Streamed: answer.StreamedYes}
		m.TTFT, m.E2EL, m.Gaps, m.Events = answer.Some(ttft*ms), answer.Some(e2el*ms), nil, len(gaps)+1
		for _, g := range gaps {
			m.Gaps = append(m.Gaps, g*ms)
			m.Spread.V += g * ms
		}
		m.Spread.OK = true
		m.OutputTokens, m.TokenSource = answer.Some(usage), answer.TokenUsage
		if usage == 0 {
			m.OutputTokens, m.TokenSource = answer.Some(int64(m.Events)), answer.TokenResponses
		}
		return m
	}
	none := math.NaN()
	for _, tt := range []struct {
		name string
		m    *answer.Measured
		want [len(QualityMetrics)]float64
		// smooth is SmoothTokens; NaN if the request is not Timed.
		smooth float64
	}{
		{"even", measured(80, 300, []int64{40, 40, 70, 70}, 0), [...]float64{1, 50 * ms, 0.8, 20 * ms, 0, none, 0, none, none, 60 * ms}, 5 - 20.0/60},
		{"late", measured(260, 590, []int64{40, 220, 10, 60}, 10), [...]float64{3.0 / 11, none, 0, 340 * ms, 1, 220 * ms, 220.0 / 330, 2, 330.0 / 9 * ms, 59 * ms}, 5 - 340.0/60},
		{"one token", measured(90, 95, nil, 1), [...]float64{1, 1, 0, 30 * ms, 0, none, none, 1, none, 95 * ms}, 1 - 30.0/60},
	} {
		check := func(name string, m *answer.Measured, want [len(QualityMetrics)]float64, smooth float64) {
			q := NewQualityMeter(QualityConfig{FirstTokenNS: 100 * ms, TokenNS: 50 * ms, Target: 0.9, Share: 1, PaceNS: 60 * ms, StallNS: 100 * ms, StallFactor: 2}).Measure(m)
			for i := range QualityMetrics {
				x := QualityMetrics[i].Metric
				if got := q.Value(x); !(math.Abs(got-want[i]) <= 1e-12*math.Abs(want[i]) || math.IsNaN(got) && math.IsNaN(want[i])) {
					t.Errorf("%s: %s = %v, want %v", name, x, got, want[i])
				}
			}
			if q.Timed == math.IsNaN(smooth) || q.Timed && math.Abs(q.SmoothTokens()-smooth) > 1e-12 {
				t.Errorf("%s: smooth tokens %v, want %v", name, q.SmoothTokens(), smooth)
			}
			if v := q.Value(answer.TTFT); !math.IsNaN(v) {
				t.Errorf("%s: TTFT %v is a metric of quality", name, v)
			}
		}
		check(tt.name, tt.m, tt.want, tt.smooth)
		// An answer that was not streamed has only a time per token.
		var whole [len(QualityMetrics)]float64
		for i := range whole {
			whole[i] = none
		}
		whole[place(answer.NormalizedLatency)] = tt.want[place(answer.NormalizedLatency)]
		tt.m.Streamed = answer.StreamedNo
		check(tt.name+", not streamed", tt.m, whole, none)
		// With several choices only counts are known.
		tt.m.Streamed, tt.m.Events = answer.StreamedYes, tt.m.Events+1
		if q := NewQualityMeter(DefaultQuality()).Measure(tt.m); q.Timed || !q.severalChoices {
			t.Errorf("%s, several choices: %+v", tt.name, q)
		}
	}
}
