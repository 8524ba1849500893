package diff

import (
	"math"
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
	slow, first, both, few, failing, twoLevels, twoSlow, otherLevel := base, base, base, base, base, base, base, base
	slow.itl = 21
	first.ttft = 45
	both.ttft, both.itl = 45, 19
	few.requests = 10
	failing.failing = 5
	twoLevels.levels = []string{"1", "4"}
	otherLevel.levels = []string{"8"}
	twoSlow.levels, twoSlow.itl = twoLevels.levels, 21
	for _, tt := range []struct {
		name     string
		old, new []*Run
		want     string
	}{
		{"slower", side(1, 5, base), side(20, 5, slow), "new is slower: TPOT p50 +5.3 % (+3.9 to +6.8), E2EL p50 +4.9 % (+3.6 to +6.3), output tokens/s -4.4 % (-5.4 to -3.3); TTFT p50 unchanged within ±4.9 %"},
		{"faster", side(1, 5, slow), side(20, 5, base), "new is faster: TPOT p50 -4.5 % (-5.8 to -3.1), E2EL p50 -3.3 % (-4.4 to -2.1), output tokens/s +3.8 % (+2.7 to +5.0); TTFT p50 unchanged within ±4.9 %"},
		{"mixed", side(1, 5, base), side(20, 5, both), "new is better and worse: TTFT p50 +51 % (+43 to +60), TPOT p50 -4.7 % (-5.8 to -3.6), E2EL p50 +5.5 % (+4.2 to +6.8), output tokens/s -4.0 % (-5.0 to -3.1)"},
		{"no difference", side(1, 5, base), side(20, 5, base), "no difference larger than 6.7 % in TTFT p50, 2.0 % in TPOT p50, 2.0 % in E2EL p50, 1.5 % in output tokens/s"},
		{"failing", side(1, 5, base), side(20, 5, failing), "new is slower: output tokens/s -3.6 % (-4.8 to -2.5), failed 0% to 20%; TTFT p50 unchanged within ±4.1 %, TPOT p50 unchanged within ±1.9 %, E2EL p50 unchanged within ±1.5 %"},
		{"failing, 3 runs", side(1, 3, base), side(20, 3, failing), "new is slower: output tokens/s -3.7 % (-6.0 to -1.3); TTFT p50 unchanged within ±4.6 %, TPOT p50 unchanged within ±2.3 %, E2EL p50 unchanged within ±1.6 %, failed 0% to 20%, not judged"},
		{"single", side(1, 1, base), side(20, 1, first), "these two runs differ: TTFT p50 +53 % (+41 to +70), E2EL p50 +9.3 % (+7.2 to +12); TPOT p50 unchanged within ±2.2 %"},
		{"single, few", side(1, 1, few), side(20, 1, few), "too few requests to judge: record about 30 a side, or use --repeat 5"},
		{"two runs", side(1, 2, base), side(20, 2, base), "too few runs to judge: record at least 3 a side, better 5 (--repeat 5)"},
		{"two levels", side(1, 5, twoLevels), side(20, 5, twoSlow), "new is slower at both levels"},
		{"no level in common", side(1, 1, base), side(20, 1, otherLevel), "not comparable: no load level in common"},
	} {
		if got := Compare(tt.old, tt.new, Options{}).Headline(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestSignedSizes(t *testing.T) {
	for v, want := range map[float64]string{
		0.048: "+4.8", -0.0461: "-4.6", 0.00432: "+0.43", 0.0996: "+10", 0.0994: "+9.9", 0.00996: "+1.0",
		12.345: "+1,235", 0: "+0.00", math.Inf(1): "+∞", math.Inf(-1): "-∞",
	} {
		if got := signed(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if signed(math.NaN()) != "?" {
		t.Error("NaN")
	}
	for n, want := range map[int]string{0: "0", 999: "999", 4800: "4,800", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
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
