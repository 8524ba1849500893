package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// The first line names what was found; the runs are made so that the cases differ.
func TestHeadline(t *testing.T) {
	side := func(seed uint64, runs int, c recipe) []*Run {
		var all []*Run
		for i := range uint64(runs) {
			c.seed = seed + i
			all = append(all, read(t, "run", c))
		}
		return all
	}
	base := recipe{requests: 60, tokens: 8, ttft: 30, itl: 20}
	slow, first, both, few, failing, twoLevels, twoSlow, otherLevel, long, few40 := base, base, base, base, base, base, base, base, base, base
	slow.itl = 21
	first.ttft = 45
	both.ttft, both.itl = 45, 19
	few.requests, few40.requests, long.requests = 10, 40, 240
	failing.failing = 5
	twoLevels.levels = []string{"1", "4"}
	otherLevel.levels = []string{"8"}
	twoSlow.levels, twoSlow.itl = twoLevels.levels, 21
	older, newer := side(1, 5, base), side(20, 5, base) // Compare does not change them
	for _, tt := range []struct {
		name     string
		old, new []*Run
		primary  []string
		want     string
	}{
		{"slower", older, side(20, 5, slow), nil, "new is slower: TPOT p50 +5.3 % (+3.9 to +6.8), E2EL p50 +4.9 % (+3.6 to +6.3), output tokens/s -4.4 % (-5.4 to -3.3); TTFT p50 unchanged within ±4 %; the sides did not take turns, so a drift of the machine may be the reason"},
		{"faster", side(1, 5, slow), newer, nil, "new is faster: TPOT p50 -4.5 % (-5.8 to -3.1), E2EL p50 -3.3 % (-4.4 to -2.1), output tokens/s +3.8 % (+2.7 to +5.0); TTFT p50 unchanged within ±4 %; the sides did not take turns, so a drift of the machine may be the reason"},
		{"mixed", older, side(20, 5, both), nil, "new is better and worse: TTFT p50 +51 % (+43 to +60), TPOT p50 -4.7 % (-5.8 to -3.6), E2EL p50 +5.5 % (+4.2 to +6.8), output tokens/s -4.0 % (-5.0 to -3.1); the sides did not take turns, so a drift of the machine may be the reason"},
		{"no difference", older, newer, nil, "no difference within 4 %: TTFT p50 +0.81 %, TPOT p50 +0.31 %, E2EL p50 +0.75 %, output tokens/s -0.33 %"},
		{"failing", older, side(20, 5, failing), nil, "new fails more: failed 20 % instead of 0 %; of the requests that succeeded: output tokens/s -3.6 % (-4.7 to -2.5); TTFT p50 unchanged within ±2.8 %, TPOT p50 unchanged within ±1.3 %, E2EL p50 unchanged within ±1.1 %; the sides did not take turns, so a drift of the machine may be the reason"},
		{"failing, 3 runs", older[:3], side(20, 3, failing), nil, "new fails more: failed 20 % instead of 0 %; of the requests that succeeded: TTFT p50 unchanged within ±2.8 %, TPOT p50 unchanged within ±1.5 %, E2EL p50 unchanged within ±0.89 %"},
		{"single", older[:1], side(20, 1, first), nil, "these two runs differ: TTFT mean +51 % (+40 to +63), E2EL mean +9.1 % (+6.8 to +11); TPOT p50 unchanged within ±2 %"},
		{"single, few", side(1, 1, few), side(20, 1, few), nil, "cannot tell: TTFT mean +21 %, TPOT p50 +0.67 %, E2EL mean +3.4 % cannot be judged: 10 values; at least 30 are needed; record about 30 requests a side, or use --repeat 5"},
		{"two runs", older[:2], newer[:2], nil, "cannot tell: TTFT p50 +4.0 %, TPOT p50 +0.19 %, E2EL p50 +0.60 % cannot be judged: only 2 runs; record at least 3 runs a side, better 5 (--repeat 5)"},
		{"two levels", side(1, 5, twoLevels), side(20, 5, twoSlow), nil, "new is slower over both levels: TPOT p50 +5.3 % (+4.7 to +5.9), E2EL p50 +4.8 % (+3.9 to +5.6), output tokens/s -4.3 % (-5.1 to -3.5); clearest at concurrency 4, but no level was shown to differ from the others; TTFT p50 unchanged within ±2.7 %; the sides did not take turns, so a drift of the machine may be the reason"},
		{"longer runs", older, side(20, 5, long), nil, "cannot tell: output tokens/s -0.64 % cannot be judged: old has 60 requests a run and new 240, and short runs have lower rates, because few requests run at their start and end; record the same number; TTFT p50 unchanged within ±2.9 %, TPOT p50 unchanged within ±1.4 %, E2EL p50 unchanged within ±1.3 %"},
		{"failures alone, none", older, newer, []string{"failed_share"}, "no difference within one percentage point in failed requests: 0 % and 0 %"},
		{"failures alone, single", older[:1], side(20, 1, failing), []string{"failed_share"}, "new fails more: failed 20 % instead of 0 %"},
		{"an open interval", side(1, 1, few40), side(20, 1, few40), []string{"ttft_p90", "ttft_p50", "e2el_p50"}, "cannot tell: TTFT p50 may have changed by 5 % or more: +3.7 % (-7.6 to +19); about 470 requests a side would be enough, or use --repeat 5; E2EL p50 unchanged within ±3 %, TTFT p90 +4.0 % unclear (without limits)"},
		{"a chosen metric without an interval", older[:1], newer[:1], []string{"tpot_p50", "e2el_p99"}, "cannot tell: E2EL p99 -0.073 % cannot be judged: too few of 60 values lie beyond p99; record about 380 requests a side, or use --repeat 5; TPOT p50 unchanged within ±2 %"},
		{"no level in common", older[:1], side(20, 1, otherLevel), nil, "not comparable: no load level in common"},
	} {
		if got := Compare(tt.old, tt.new, Options{Primary: tt.primary}).Headline(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// The first line says what else moves the numbers: answers of other lengths, the same run on both sides, and that
// nothing was measured.
func TestHeadlineNamesCauses(t *testing.T) {
	side := func(seed uint64, c recipe) []*Run {
		var runs []*Run
		for i := range uint64(3) {
			c.seed = seed + 2*i
			runs = append(runs, read(t, fmt.Sprintf("run-%d", c.seed), c))
		}
		return runs
	}
	base := recipe{requests: 60, tokens: 50, ttft: 30, itl: 20}
	longer, all := base, base
	longer.tokens, all.failing = 52, 1
	same := side(1, base)
	for _, tt := range []struct {
		name       string
		old, new   []*Run
		begin, end string
		answer     Answer
	}{
		{"answers 4 % longer", side(1, base), side(2, longer), "new is slower", "; the answers of new are 4 % longer (mean 52 instead of 50 tokens)", Worse},
		{"answers 4 % shorter", side(1, longer), side(2, base), "new is faster", "; the answers of new are 3.8 % shorter (mean 50 instead of 52 tokens)", Better},
		{"the same run", same, append(side(2, base)[:2:2], same[2]), "old run-5 and new run-5 hold the same run, which is compared with itself; ", "", NoDifference},
		{"all failed", side(1, all), side(2, all), "cannot tell: no request succeeded on either side", "", CannotTell},
	} {
		res := Compare(tt.old, tt.new, Options{})
		if got := res.Headline(); !strings.HasPrefix(got, tt.begin) || !strings.HasSuffix(got, tt.end) || res.Answer != tt.answer {
			t.Errorf("%s: %v: %s\nwant %v: %s … %s", tt.name, res.Answer, got, tt.answer, tt.begin, tt.end)
		}
	}
}

// Where one level alone changed, the first line says so, and gives the others' change.
func TestHeadlineOfOneLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	side := func(effect float64) simulated {
		return simulated{runs: 5, levels: 4, ln: func(_, level int, _ float64) float64 {
			v := 0.01 * random.NormFloat64()
			if level == 3 {
				v += effect
			}
			return v
		}}
	}
	got := Compare(side(0).make(random, 0), side(0.3).make(random, 1), Options{}).Headline()
	if !strings.HasPrefix(got, "new is slower on average over all 4 levels: ") || !strings.Contains(got, "; more at concurrency 4: TTFT p50 +3") || !strings.Contains(got, "; at the other levels together: TTFT p50 ") {
		t.Error(got)
	}
}

// A metric that drifts puts the differences of the others in doubt, where the sides did not take turns.
func TestDriftOfAnotherMetric(t *testing.T) {
	row := func(i int, older, newer []float64) *Row {
		r := &Row{Metric: Metrics[i], Primary: true, OldRuns: older, NewRuns: newer, Level: confidence, margin: 0.05}
		r.Comparison = inference.Runs(older, newer)
		return r
	}
	var levels [2][]*RunLevel
	res := &Result{apart: oneByOne}
	for i := range uint64(10) {
		l := &RunLevel{Run: &Run{Name: fmt.Sprint(i), Header: &export.Run{}, firstNS: (i + 1) * 1e12, requests: 1}}
		levels[i/5] = append(levels[i/5], l)
	}
	res.Old, res.New = runsOf(levels[0]), runsOf(levels[1])
	drifting := row(0, []float64{100, 103, 104, 105, 108}, []float64{111, 112, 113, 117, 118})
	noisy := row(1, []float64{100, 99, 101, 100, 99.5}, []float64{103, 104, 103.5, 104.5, 103})
	drifting.Verdict, noisy.Verdict = inference.Worse, inference.Worse
	l := &LevelDiff{Old: levels[0], New: levels[1], Rows: []*Row{drifting, noisy}}
	if res.spoilDrifting(l); !drifting.drifts || noisy.Verdict != inference.Worse {
		t.Errorf("drifting %v, the other %v: want one that drifts, and one that is worse at the same time, too", drifting.drifts, noisy.Verdict)
	}
	noisy.OldRuns, noisy.NewRuns = []float64{99, 102, 100, 104, 103}, []float64{105, 103, 108, 106, 109}
	noisy.Comparison = inference.Runs(noisy.OldRuns, noisy.NewRuns)
	drifting.drifts, drifting.Verdict = false, inference.Worse
	if res.spoilDrifting(l); !noisy.drifts || noisy.Verdict != inference.NotAvailable {
		t.Errorf("the other %v, want no verdict", noisy.Verdict)
	}
}
