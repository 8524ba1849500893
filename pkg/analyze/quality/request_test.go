package quality

import (
	"math"
	"reflect"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// The two requests of package quality's hand-worked vectors, with parameters 100, 50, 60 ms, stalls
// above 100 ms and two medians. late: 11 deadlines, 8 missed; gaps 40, 220, 10, 60 ms, so that 10 tokens
// of usage in 5 events take 330/9 ms each; 590 ms and 10 tokens are 59 ms a token.
func TestRequestQuality(t *testing.T) {
	const ms = 1_000_000
	measured := func(ttft, e2el int64, gaps []int64, usage int64) *answer.Measured {
		m := &answer.Measured{Streamed: answer.StreamedYes}
		m.TTFT, m.E2EL, m.Gaps, m.Events = export.IntOf(ttft*ms), export.IntOf(e2el*ms), nil, len(gaps)+1
		for _, g := range gaps {
			m.Gaps = append(m.Gaps, g*ms)
			m.Spread.V += g * ms
		}
		m.Spread.OK = true
		m.OutputTokens, m.TokenSource = export.IntOf(usage), answer.TokenUsage
		if usage == 0 {
			m.OutputTokens, m.TokenSource = export.IntOf(int64(m.Events)), answer.TokenResponses
		}
		return m
	}
	none := math.NaN()
	for _, tt := range []struct {
		name string
		m    *answer.Measured
		want [answer.NumQuality]float64
		// smooth is SmoothTokens; NaN if the request is not Timed.
		smooth float64
	}{
		{"even", measured(80, 300, []int64{40, 40, 70, 70}, 0), [...]float64{1, 50 * ms, 0.8, 20 * ms, 0, none, 0, none, none, 60 * ms}, 5 - 20.0/60},
		{"late", measured(260, 590, []int64{40, 220, 10, 60}, 10), [...]float64{3.0 / 11, none, 0, 340 * ms, 1, 220 * ms, 220.0 / 330, 2, 330.0 / 9 * ms, 59 * ms}, 5 - 340.0/60},
		{"one token", measured(90, 95, nil, 1), [...]float64{1, 1, 0, 30 * ms, 0, none, none, 1, none, 95 * ms}, 1 - 30.0/60},
	} {
		check := func(name string, m *answer.Measured, want [answer.NumQuality]float64, smooth float64) {
			q := NewMeter(Config{FirstTokenNS: 100 * ms, TokenNS: 50 * ms, Target: 0.9, Share: 1, PaceNS: 60 * ms, StallNS: 100 * ms, StallFactor: 2}).Measure(m)
			for i := range answer.QualityMetrics {
				x := answer.QualityMetrics[i].Metric
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
		var whole [answer.NumQuality]float64
		for i := range whole {
			whole[i] = none
		}
		whole[answer.NormalizedLatency-answer.Fluidity] = tt.want[answer.NormalizedLatency-answer.Fluidity]
		tt.m.Streamed = answer.StreamedNo
		check(tt.name+", not streamed", tt.m, whole, none)
		// With several choices only counts are known.
		tt.m.Streamed, tt.m.Events = answer.StreamedYes, tt.m.Events+1
		if q := NewMeter(Default()).Measure(tt.m); q.Timed || !q.SeveralChoices {
			t.Errorf("%s, several choices: %+v", tt.name, q)
		}
	}
}

// By hand: events at 0, 30, 40, 100 and 160 ms hold 1, 3, 0, 2 and 4 tokens. The three tokens
// of the second event took 10 ms each. The third event shows text of a token that was counted before, so
// that its 10 ms belong to the two tokens after it: 35 ms each. The last four took 15 ms each. The mean of
// the nine times is (3·10 + 2·35 + 4·15)/9 = 160/9 ms. Without the counts, ten tokens in five events make
// 4/9 of each gap.
func TestCountedTokens(t *testing.T) {
	const ms = 1_000_000
	m := &answer.Measured{Streamed: answer.StreamedYes}
	m.TTFT, m.E2EL, m.Events = export.IntOf(100*ms), export.IntOf(260*ms), 5
	m.Gaps, m.GapTokens = []int64{30 * ms, 10 * ms, 60 * ms, 60 * ms}, []int32{3, 0, 2, 4}
	m.Spread, m.OutputTokens, m.TokenSource = export.IntOf(160*ms), export.IntOf(10), answer.TokenUsage
	share := 4.0 / 9
	type time struct {
		gap int
		ns  float64
		n   int
	}
	for _, tt := range []struct {
		name   string
		tokens []int32
		want   []time
	}{
		{"counted", m.GapTokens, []time{{0, 10 * ms, 3}, {2, 35 * ms, 2}, {3, 15 * ms, 4}}},
		{"spread evenly", nil, []time{{0, 30 * ms * share, 1}, {1, 10 * ms * share, 1}, {2, 60 * ms * share, 1}, {3, 60 * ms * share, 1}}},
	} {
		m.GapTokens = tt.tokens
		q := NewMeter(Default()).Measure(m)
		var got []time
		q.EachPerToken(&m.Measures, func(gap int, ns float64, n int) { got = append(got, time{gap, ns, n}) })
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		if want := 160.0 / 9 * ms; math.Abs(q.ITLPerTokenNS-want) > 1e-6 || q.TokensPerEvent != 2 {
			t.Errorf("%s: mean %v ns, %v tokens per event; want %v, 2", tt.name, q.ITLPerTokenNS, q.TokensPerEvent, want)
		}
	}
}
