package pawindow

import (
	"testing"
	"time"
)

// passes pairs throughputs with latencies in ms.
func passes(perSecond, latencyMS []float64) []Pass {
	all := make([]Pass, len(perSecond))
	for i := range all {
		all[i] = Pass{perSecond[i], time.Duration(latencyMS[i] * 1e6)}
	}
	return all
}

func TestJudge(t *testing.T) {
	tenth := Rule{Spread: 0.1, MaxTrials: 10}
	for _, tt := range []struct {
		name      string
		rule      Rule
		perSecond []float64
		latencyMS []float64
		want      Verdict
	}{
		// The three sequences of perf_analyzer's own unit tests.
		{"latency 112/100 is more than 10 %", tenth, []float64{500, 520, 510}, []float64{100, 106, 112}, Verdict{}},
		{"both within 10 %", tenth, []float64{500, 520, 510}, []float64{100, 104, 108}, Verdict{Done: true, Stable: true}},
		{"a window without requests", tenth, []float64{500, 0, 510}, []float64{100, 104, 108}, Verdict{}},

		{"no window", tenth, nil, nil, Verdict{}},
		{"two windows decide nothing", tenth, []float64{500, 500}, []float64{100, 100}, Verdict{}},
		{"throughput 551/500 is more than 10 %", tenth, []float64{500, 551, 510}, []float64{100, 100, 100}, Verdict{}},
		{"throughput 550/500 is 10 %", tenth, []float64{500, 550, 510}, []float64{100, 100, 100}, Verdict{Done: true, Stable: true}},
		{"only the last three count", tenth, []float64{1, 9000, 500, 520, 510}, []float64{1, 7000, 100, 104, 108}, Verdict{Done: true, Stable: true}},
		{"a spread of 0 wants them alike", Rule{}, []float64{500, 500, 500}, []float64{100, 100, 100}, Verdict{Done: true, Stable: true}},
		{"and nothing else", Rule{}, []float64{500, 500, 500}, []float64{100, 100, 100.000001}, Verdict{}},
		{"999 % as GenAI-Perf gives it", Rule{Spread: 9.99}, []float64{10, 109, 50}, []float64{100, 1000, 1098}, Verdict{Done: true, Stable: true}},
		{"latencies of 0 are alike", tenth, []float64{500, 500, 500}, []float64{0, 0, 0}, Verdict{Done: true, Stable: true}},
		{"0 and more are not", tenth, []float64{500, 500, 500}, []float64{0, 0, 1}, Verdict{}},

		{"trials are used up", Rule{Spread: 0.1, MaxTrials: 4}, []float64{500, 600, 500, 600}, []float64{100, 100, 100, 100}, Verdict{Done: true}},
		{"one trial", Rule{Spread: 0.1, MaxTrials: 1}, []float64{500}, []float64{100}, Verdict{Done: true}},
		{"stable with the last trial", Rule{Spread: 0.1, MaxTrials: 3}, []float64{500, 500, 500}, []float64{100, 100, 100}, Verdict{Done: true, Stable: true}},

		{"below the limit", Rule{Spread: 0.1, MaxTrials: 10, Limit: 113 * time.Millisecond}, []float64{500, 520, 510}, []float64{100, 106, 112}, Verdict{}},
		{"one of the last three at the limit", Rule{Spread: 0.1, MaxTrials: 10, Limit: 112 * time.Millisecond}, []float64{500, 520, 510}, []float64{112, 106, 100}, Verdict{Done: true, OverLimit: true}},
		{"over the limit and stable", Rule{Spread: 0.1, MaxTrials: 10, Limit: 50 * time.Millisecond}, []float64{500, 520, 510}, []float64{100, 104, 108}, Verdict{Done: true, Stable: true, OverLimit: true}},
		{"two over the limit are too few", Rule{Spread: 0.1, MaxTrials: 10, Limit: time.Millisecond}, []float64{500, 520}, []float64{100, 104}, Verdict{}},
		{"one long ago over the limit", Rule{Spread: 0.1, MaxTrials: 10, Limit: 110 * time.Millisecond}, []float64{500, 500, 500, 600}, []float64{120, 100, 100, 100}, Verdict{}},
		{"without requests nothing is over it", Rule{Spread: 0.1, MaxTrials: 10, Limit: time.Millisecond}, []float64{0, 0, 0}, []float64{100, 100, 100}, Verdict{}},

		{"throughput alone, trials left", Rule{Spread: 0.1, MaxTrials: 4, ThroughputSuffices: true}, []float64{500, 500, 500}, []float64{100, 100, 200}, Verdict{}},
		{"throughput alone, no trials left", Rule{Spread: 0.1, MaxTrials: 3, ThroughputSuffices: true}, []float64{500, 500, 500}, []float64{100, 100, 200}, Verdict{Done: true, Stable: true, LatencyUnstable: true}},
		{"throughput alone, over the limit", Rule{Spread: 0.1, MaxTrials: 9, Limit: 150 * time.Millisecond, ThroughputSuffices: true}, []float64{500, 500, 500}, []float64{100, 100, 200}, Verdict{Done: true, Stable: true, OverLimit: true, LatencyUnstable: true}},
		{"neither", Rule{Spread: 0.1, MaxTrials: 3, ThroughputSuffices: true}, []float64{500, 500, 600}, []float64{100, 100, 200}, Verdict{Done: true}},
		{"throughput alone of a window without requests", Rule{Spread: 0.1, MaxTrials: 3, ThroughputSuffices: true}, []float64{500, 500, 0}, []float64{100, 100, 100}, Verdict{Done: true}},
	} {
		if got := tt.rule.Judge(len(tt.perSecond), passes(tt.perSecond, tt.latencyMS)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
