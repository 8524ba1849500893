package diff

import (
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/inference"
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
		{"slower", older, side(20, 5, slow), nil, "new is slower: TPOT p50 +5.3 % (+3.9 to +6.8), E2EL p50 +4.9 % (+3.6 to +6.3), output tokens/s -4.4 % (-5.4 to -3.3); TTFT p50 unchanged within ±4.9 %"},
		{"faster", side(1, 5, slow), newer, nil, "new is faster: TPOT p50 -4.5 % (-5.8 to -3.1), E2EL p50 -3.3 % (-4.4 to -2.1), output tokens/s +3.8 % (+2.7 to +5.0); TTFT p50 unchanged within ±4.9 %"},
		{"mixed", older, side(20, 5, both), nil, "new is better and worse: TTFT p50 +51 % (+43 to +60), TPOT p50 -4.7 % (-5.8 to -3.6), E2EL p50 +5.5 % (+4.2 to +6.8), output tokens/s -4.0 % (-5.0 to -3.1)"},
		{"no difference", older, newer, nil, "no difference larger than 6.7 % in TTFT p50, 2.0 % in TPOT p50, 2.0 % in E2EL p50, 1.5 % in output tokens/s"},
		{"failing", older, side(20, 5, failing), nil, "new is slower: output tokens/s -3.6 % (-4.8 to -2.5), failed 0 % to 20 %; TTFT p50 unchanged within ±4.1 %, TPOT p50 unchanged within ±1.9 %, E2EL p50 unchanged within ±1.5 %"},
		{"failing, 3 runs", older[:3], side(20, 3, failing), nil, "new is slower: output tokens/s -3.7 % (-5.9 to -1.4); TTFT p50 unchanged within ±4.5 %, TPOT p50 unchanged within ±2.2 %, E2EL p50 unchanged within ±1.6 %, failed 0 % to 20 %, not judged"},
		{"single", older[:1], side(20, 1, first), nil, "these two runs differ: TTFT p50 +53 % (+41 to +70), E2EL p50 +9.3 % (+6.9 to +12); TPOT p50 unchanged within ±2.7 %, output tokens/s unclear (-38 to +40 %)"},
		{"single, few", side(1, 1, few), side(20, 1, few), nil, "too few requests to judge: record about 30 a side, or use --repeat 5"},
		{"two runs", older[:2], newer[:2], nil, "too few runs to judge: record at least 3 a side, better 5 (--repeat 5)"},
		{"two levels", side(1, 5, twoLevels), side(20, 5, twoSlow), nil, "new is slower at both levels"},
		{"longer runs", older, side(20, 5, long), nil, "no difference larger than 4.2 % in TTFT p50, 2.1 % in TPOT p50, 1.7 % in E2EL p50"},
		{"failures alone, none", older, newer, []string{"failed_share"}, "no difference in failed requests: 0 % and 0 %"},
		{"failures alone, single", older[:1], side(20, 1, failing), []string{"failed_share"}, "nothing can be judged: shares have no interval from one run a side"},
		{"an open interval", side(1, 1, few40), side(20, 1, few40), []string{"ttft_p90", "ttft_p50", "e2el_p50"}, "these two runs: no difference found: E2EL p50 unchanged within ±3.7 %, TTFT p50 unclear (-7.6 to +19 %), TTFT p90 unclear (-100 to +∞ %)"},
		{"a chosen metric without an interval", older[:1], newer[:1], []string{"tpot_p50", "e2el_p99"}, "these two runs: no difference larger than 2.2 % in TPOT p50; E2EL p99 not judged"},
		{"no level in common", older[:1], side(20, 1, otherLevel), nil, "not comparable: no load level in common"},
	} {
		if got := Compare(tt.old, tt.new, Options{Primary: tt.primary}).Headline(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// The order of effects in a summary of several levels: bad ones first.
func TestHeadlineOfLevels(t *testing.T) {
	row := func(v inference.Verdict) []Row {
		return []Row{{Metric: &Metrics[0], Primary: true, Verdict: v}}
	}
	level := func(name string, v inference.Verdict) LevelResult { return LevelResult{Name: name, Rows: row(v)} }
	for want, r := range map[string]Result{
		"new is slower at c 4, c 8, is faster at c 1":             {Levels: []LevelResult{level("c 1", inference.Better), level("c 4", inference.Worse), level("c 8", inference.Worse)}},
		"new shows no difference at c 1, cannot be judged at c 4": {Levels: []LevelResult{level("c 4", inference.NotAvailable), level("c 1", inference.NoDifference)}},
		"the new run differs at both levels":                      {Single: true, Levels: []LevelResult{level("c 4", inference.Different), level("c 1", inference.Different)}},
	} {
		if got := r.Headline(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
