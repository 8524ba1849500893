package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

func rowOf(t *testing.T, l *LevelDiff, key string) *Row {
	t.Helper()
	if r := l.row(key); r != nil {
		return r
	}
	t.Fatalf("no row %s", key)
	return nil
}

// The verdicts of the scenarios, whatever the form of the output.
func TestVerdicts(t *testing.T) {
	all := scenarios(t)
	for _, tt := range []struct {
		scenario, metric string
		want             inference.Verdict
	}{
		{"single", "tpot_p50", inference.Different}, // two single runs are never better or worse
		{"single", "ttft_mean", inference.NoDifference},
		{"single", "ttft_p50", inference.NotAvailable}, // the mean is judged in its place
		{"single", "output_tokens_per_s", inference.Different},
		{"single", "itl_p50", inference.NotAvailable}, // descriptive
		{"paired", "e2el_p50", inference.Different},
		{"several", "tpot_p50", inference.Worse},
		{"several", "ttft_p50", inference.NoDifference},
		{"several", "failed_share", inference.NoDifference},
		{"few", "ttft_mean", inference.NoDifference},
		{"few", "output_tokens_per_s", inference.NotAvailable},
		{"refused", "tpot_p50", inference.NotAvailable},
		{"refused", "failed_share", inference.NotAvailable},
		{"failed", "ttft_p50", inference.NotAvailable},
		{"failed", "failed_share", inference.Worse},
	} {
		if got := rowOf(t, all[tt.scenario].Levels[0], tt.metric).Verdict; got != tt.want {
			t.Errorf("%s: %s is %v, want %v", tt.scenario, tt.metric, got, tt.want)
		}
	}
	if r := all["ignored"].Refused(); r != nil {
		t.Errorf("refused although all is ignored: %v", r)
	}
	var names []string
	for _, d := range all["refused"].Refused() {
		names = append(names, d.Name)
	}
	if d := cmp.Diff([]string{"model", "dataset", "output-tokens", "stamps"}, names); d != "" {
		t.Errorf("refusals (-want +got):\n%s", d)
	}
	if got := rowOf(t, all["failed"].Levels[0], "failed_share"); got.New.Value != 1 || got.Old.Value != 0 {
		t.Errorf("failed shares %v and %v, want 0 and 1", got.Old.Value, got.New.Value)
	}
	if res := all["several"]; res.Family != 12 || len(res.Levels) != 2 {
		t.Errorf("%d p-values in %d levels, want 12 in 2 and both", res.Family, len(res.Levels))
	}
}

// A run against itself: no difference anywhere, and values as in the report.
func TestSame(t *testing.T) {
	c := recipe{seed: 1, requests: 1500, tokens: 6, ttft: 30, itl: 20}
	res := Compare([]*Run{read(t, "a", c)}, []*Run{read(t, "b", c)}, Options{})
	if len(res.Differences) > 0 || len(res.Levels) != 1 || slices.ContainsFunc(res.Levels[0].Rows, func(r *Row) bool { return r.Metric.Quality }) {
		t.Fatalf("%+v", res)
	}
	if got, want := len(res.Levels[0].Rows), slices.IndexFunc(Metrics[:], func(m *Metric) bool { return m.Quality }); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	for _, r := range res.Levels[0].Rows {
		if r.Old.Value != r.New.Value || r.Metric.Key != "failed_share" && r.Change != 0 {
			t.Errorf("%s: %v and %v", r.Metric.Key, r.Old.Value, r.New.Value)
		}
		if r.Old.Value != r.OldRuns[0] && math.Abs(r.Old.Value/r.OldRuns[0]-1) > 1e-12 {
			t.Errorf("%s: the estimate %v is not the statistic %v", r.Metric.Key, r.Old.Value, r.OldRuns[0])
		}
		if r.Verdict != inference.NoDifference && r.Primary {
			t.Errorf("%s: %v", r.Metric.Key, r.Verdict)
		}
	}
	if a, b, found := SameRun([]*Run{read(t, "a", c), read(t, "b", c)}); !found || a.Name != "a" || b.Name != "b" {
		t.Error("the same run in two files is not seen")
	}
	other := c
	other.seed = 2
	if _, _, found := SameRun([]*Run{read(t, "a", c), read(t, "b", other)}); found {
		t.Error("two runs are taken for one")
	}
}

// Levels are matched by load. Levels of only one side are named. With the load ignored, a single
// level a side is compared whatever it is.
func TestLevels(t *testing.T) {
	run := func(levels ...string) []*Run {
		return []*Run{read(t, "run", recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20, levels: levels})}
	}
	for _, tt := range []struct {
		name           string
		old, new       []*Run
		ignore         []string
		both           []string
		oldOnly, newer []string
	}{
		{"a sweep", run("1", "2", "4"), run("4", "2", "8"), nil, []string{"concurrency 2", "concurrency 4"}, []string{"concurrency 1"}, []string{"concurrency 8"}},
		{"nothing in common", run("1"), run("2"), nil, nil, []string{"concurrency 1"}, []string{"concurrency 2"}},
		{"nothing in common, ignored", run("1"), run("2"), []string{load}, []string{"concurrency 1 → concurrency 2"}, nil, nil},
		{"two levels stay apart", run("1", "2"), run("3", "4"), []string{load}, nil, []string{"concurrency 1", "concurrency 2"}, []string{"concurrency 3", "concurrency 4"}},
		{"the same twice", run("2", "2"), run("2", "2"), nil, []string{"concurrency 2", "concurrency 2"}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := Compare(tt.old, tt.new, Options{Ignore: tt.ignore})
			var both []string
			for i := range res.Levels {
				both = append(both, res.Levels[i].Name)
			}
			if d := cmp.Diff([][]string{tt.both, tt.oldOnly, tt.newer}, [][]string{both, res.OldOnly, res.NewOnly}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Pairs need the same prompts in the same order, and more than one of them.
func TestPairs(t *testing.T) {
	type prompt struct{ place, input, ttft, e2el int64 }
	made := func(n, different int, shift int64) []prompt {
		var p []prompt
		for i := range int64(n) {
			p = append(p, prompt{place: i, input: (i + shift) % int64(different), ttft: 1, e2el: 2})
		}
		return p
	}
	missing := made(10, 5, 0)
	missing[3].ttft, missing[3].e2el = 0, 0
	unordered := slices.Clone(missing)
	slices.Reverse(unordered)
	for _, tt := range []struct {
		name     string
		old, new []prompt
		want     int
	}{
		{"the same", made(10, 5, 0), made(10, 5, 0), 10},
		{"one run is shorter", made(10, 5, 0), made(6, 5, 0), 6},
		{"one run is much shorter", made(10, 5, 0), made(4, 5, 0), 0},
		{"another order", made(10, 5, 0), made(10, 5, 1), 0},
		{"one prompt", made(10, 1, 0), made(10, 1, 0), 0},
		{"not recorded", nil, nil, 0},
		{"parts of two runs", made(20, 5, 0)[3:13], made(20, 5, 0)[5:15], 8},
		{"parts with little in common", made(20, 5, 0)[:10], made(20, 5, 0)[6:16], 0},
		{"one lacks a prompt", append(made(10, 5, 0)[:4:4], made(10, 5, 0)[5:]...), made(10, 5, 0), 9},
		{"one failed", missing, made(10, 5, 0), 9},
		{"issued in another order than sent", unordered, made(10, 5, 0), 9},
	} {
		of := func(all []prompt) *prompts {
			x := newPrompts(stat.NewStore(0, ""))
			for _, p := range all {
				x.put(p.place, p.input, p.ttft, p.e2el)
			}
			x.sort()
			return &x
		}
		if p := pairs(of(tt.old), of(tt.new)); p.n != tt.want || (p.ttft != nil) != (tt.want > 0) || (p.e2el != nil) != (tt.want > 0) {
			t.Errorf("%s: %d pairs, want %d", tt.name, p.n, tt.want)
		}
	}
}

// Runs that hold next to nothing get an answer too.
func TestDegenerate(t *testing.T) {
	for name, c := range map[string]recipe{
		"empty":         {seed: 1},
		"one request":   {seed: 1, requests: 1, tokens: 3, ttft: 30, itl: 20},
		"one token":     {seed: 1, requests: 300, tokens: 1, ttft: 30, itl: 20},
		"all failed":    {seed: 1, requests: 10, tokens: 3, ttft: 30, itl: 20, failing: 1},
		"no experiment": {seed: 1, requests: 1, tokens: 1, ttft: 1, itl: 1, levels: []string{}},
		"all at once": {seed: 1, requests: 10, tokens: 3, ttft: 30, itl: 20, change: func(m *memory) {
			for i := range m.requests[0] {
				m.requests[0][i].Responses = m.requests[0][i].Responses[:1]
				m.requests[0][i].Responses[0].RecvNS = 5
				m.requests[0][i].StartNS = 5
			}
		}},
		"damaged times": {seed: 1, requests: 10, tokens: 3, ttft: 30, itl: 20, change: func(m *memory) {
			m.requests[0][0].Responses[1].RecvNS = math.MaxUint64
			m.requests[0][1].StartNS = 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 3} {
				var older, newer []*Run
				for i := range n {
					c.seed = uint64(i)
					older, newer = append(older, read(t, "old", c)), append(newer, read(t, "new", c))
				}
				res := Compare(older, newer, Options{})
				e, err := (&Options{}).ParseGate("ttft_p50>5% || new.e2el_p99>1h && 1h")
				if err == nil {
					t.Fatalf("%v", e)
				}
				if e, err = (&Options{}).ParseGate("new.tpot_p50>1s"); err != nil {
					t.Fatal(err)
				}
				passed := res.Gate([]*GateExpr{e})
				if name == "one token" && passed {
					t.Error("a gate on what does not exist passed")
				}
				for _, render := range writers(res) {
					var b bytes.Buffer
					if err := render(&b); err != nil {
						t.Fatal(err)
					}
					if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
						t.Errorf("not a number:\n%s", s)
					}
				}
			}
		})
	}
}

func TestReadEndsEarly(t *testing.T) {
	m := recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20}.make()
	m.err = errors.New("cut")
	run, err := Read(t.Context(), "run", m, analyze.Config{})
	if !errors.Is(err, m.err) || len(run.Levels) != 1 || run.Levels[0].OK != 5 {
		t.Errorf("%+v, %v", run, err)
	}
	if run.Levels[0].follow != nil {
		t.Error("the series are kept although they are not asked for")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(m.err)
	if _, err := Read(ctx, "run", recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20}.make(), analyze.Config{}); !errors.Is(err, m.err) {
		t.Errorf("%v, want the cause of the context", err)
	}
}

// The claims of a comparison depend on the number of runs.
func TestSides(t *testing.T) {
	sides := func(seed uint64, n int, levels ...string) []*Run {
		var runs []*Run
		for i := range uint64(n) {
			runs = append(runs, read(t, fmt.Sprintf("run %d", seed+i), recipe{seed: seed + i, requests: 60, tokens: 4, ttft: 30, itl: 20, levels: levels}))
		}
		return runs
	}
	for _, tt := range []struct {
		old, new int
		single   bool
		needs    int // of an interval; 0 where there is one
		ranked   bool
	}{
		{1, 1, true, 0, false}, {1, 3, false, 3, false}, {2, 2, false, 3, false}, {3, 3, false, 0, false}, {3, 6, false, 0, false}, {6, 6, false, 0, true},
	} {
		res := Compare(sides(1, tt.old), sides(50, tt.new), Options{})
		judged := "ttft_p50"
		if tt.single {
			judged = "ttft_mean"
		}
		r := rowOf(t, res.Levels[0], judged)
		if res.Single != tt.single || r.NA.Needs != tt.needs || r.NA.Missing() != (tt.needs > 0) || (r.Verdict == inference.NotAvailable) != (tt.needs > 0) {
			t.Errorf("%d against %d: single %v, verdict %v, %q needs %d", tt.old, tt.new, res.Single, r.Verdict, r.NA.Reason, r.NA.Needs)
		}
		if ranked := r.Rank != nil && !r.Rank.NA.Missing(); ranked != tt.ranked {
			t.Errorf("%d against %d: rank test %v", tt.old, tt.new, ranked)
		}
	}

	// A level that some runs lack is compared by the runs that have it, and named.
	older := append(sides(1, 3, "1", "4"), sides(4, 1, "1")...)
	newer := sides(50, 4, "1", "4")
	newer[1].Levels[0].Problem = errors.New("no such part")
	res := Compare(older, newer, Options{})
	if d := cmp.Diff([]string{"concurrency 1: only 3 of 4 new runs have this level", "concurrency 4: only 3 of 4 old runs have this level"}, res.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	if l := res.Levels[1]; len(l.Old) != 3 || len(l.New) != 4 || len(rowOf(t, l, "itl_p50").OldRuns) != 3 {
		t.Errorf("%s: %d old runs, %d new", l.Name, len(l.Old), len(l.New))
	}
	for i := range newer {
		newer[i].Levels[1].Problem = errors.New("no such part")
	}
	if res = Compare(older, newer, Options{}); len(res.Levels) != 1 || !slices.Equal(res.OldOnly, []string{"concurrency 4"}) {
		t.Errorf("levels %v, only in old %v", res.Levels, res.OldOnly)
	}
}

// A gate does not pass at a level that a run lacks, nor where a run is compared
// with itself; one that holds fails all the same.
func TestUnfitForGates(t *testing.T) {
	side := func(levels [][]string, seeds ...uint64) []*Run {
		var runs []*Run
		for i, seed := range seeds {
			runs = append(runs, read(t, fmt.Sprintf("run %d", seed), recipe{seed: seed, requests: 60, tokens: 4, ttft: 30, itl: 20, levels: levels[i]}))
		}
		return runs
	}
	all, some := []string{"1", "4"}, []string{"1"}
	for _, tt := range []struct {
		name     string
		old, new []*Run
		want     string // at the second level
	}{
		{"all", side([][]string{all, all}, 1, 2), side([][]string{all, all}, 3, 4), ""},
		{"a new run lacks it", side([][]string{all, all}, 1, 2), side([][]string{all, some}, 3, 4), "only 1 of 2 new runs has this level; --experiment chooses levels"},
		{"an old run lacks it", side([][]string{some, all}, 1, 2), side([][]string{all, all}, 3, 4), "only 1 of 2 old runs has this level; --experiment chooses levels"},
		{"a run on both sides", side([][]string{all, all}, 1, 2), side([][]string{all, all}, 3, 2), "old run 2 and new run 2 hold the same run, which is compared with itself"},
	} {
		for _, cond := range []struct {
			expr string
			want GateState
		}{{"new.itl_p50>1s", GateClear}, {"new.itl_p50<1s", GateTripped}} {
			e, err := (&Options{}).ParseGate(cond.expr)
			if err != nil {
				t.Fatal(err)
			}
			res := Compare(tt.old, tt.new, Options{})
			passed := res.Gate([]*GateExpr{e})
			got := res.Gates[1]
			want := cond.want
			if want == GateClear && tt.want != "" {
				want = GateUnknown
				if d := cmp.Diff([]string{tt.want}, got.Because); d != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tt.name, cond.expr, d)
				}
			}
			if got.State != want || passed != (want == GateClear) {
				t.Errorf("%s: %s: %v, passed %v, want %v", tt.name, cond.expr, got.State, passed, want)
			}
		}
	}
}

// part marks the levels of runs as levels of a part.
func part(runs []*Run) []*Run {
	for _, r := range runs {
		for i := range r.Levels {
			r.Levels[i].Selected = &analyze.Selected{How: "window"}
		}
	}
	return runs
}

// Why there is nothing to compare, and that gates do not pass for it.
func TestNothing(t *testing.T) {
	good := recipe{seed: 1, requests: 20, tokens: 3, ttft: 30, itl: 20}
	failed := recipe{seed: 2, requests: 20, tokens: 3, ttft: 30, itl: 20, failing: 1}
	empty := recipe{seed: 3}
	other := func(c recipe, seed uint64) recipe { c.seed = seed; return c }
	runs := func(recipes ...recipe) []*Run {
		var all []*Run
		for i, c := range recipes {
			all = append(all, read(t, fmt.Sprint(i), c))
		}
		return all
	}
	for _, tt := range []struct {
		name     string
		old, new []*Run
		want     string
	}{
		{"something", runs(good), runs(other(good, 8)), ""},
		{"new failed", runs(good), runs(failed), "no request of the new run succeeded"},
		{"old failed", runs(failed), runs(good), "no request of the old run succeeded"},
		{"both failed", runs(failed), runs(other(failed, 9)), "no request succeeded"},
		{"empty", runs(empty), runs(other(empty, 9)), "neither side has a request"},
		{"some of several failed", runs(good, other(good, 4), other(good, 5)), runs(other(good, 8), failed, other(failed, 6)), "no request succeeded in 2 of 3 new runs"},
		{"some of several without requests", runs(good, empty, other(good, 5)), runs(other(good, 8), other(good, 6), other(good, 7)), "1 of 3 old runs has no request that counts"},
		{"one without requests", runs(good), runs(empty), "the new run has no request that counts"},
		{"nothing starts in the part", runs(good), part(runs(empty)), "the new run has no request that started in the part selected"},
		{"nothing starts in the part of some of several", part(runs(empty, good, other(good, 5))), runs(other(good, 8), other(good, 6), other(good, 7)), "1 of 3 old runs has no request that started in the part selected"},
	} {
		res := Compare(tt.old, tt.new, Options{})
		if got := res.Levels[0].nothing(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		e, err := (&Options{}).ParseGate("e2el_p50>+1000%")
		if err != nil {
			t.Fatal(err)
		}
		if passed := res.Gate([]*GateExpr{e}); passed != (tt.want == "") {
			t.Errorf("%s: a gate passed: %v", tt.name, passed)
		}
	}
}

// Shares of failed requests are compared by their counts, for any number of runs.
func TestFailedShares(t *testing.T) {
	side := func(seed uint64, runs, failing int) []*Run {
		var all []*Run
		for i := range uint64(runs) {
			all = append(all, read(t, "run", recipe{seed: seed + i, requests: 60 + int(i), tokens: 3, ttft: 30, itl: 20, failing: failing}))
		}
		return all
	}
	for _, tt := range []struct {
		old, new int // every so many fail
		runs     int
		verdict  inference.Verdict
		values   [2]float64
	}{
		{0, 0, 1, inference.NoDifference, [2]float64{0, 0}},
		{0, 0, 3, inference.NoDifference, [2]float64{0, 0}},
		{0, 10, 1, inference.Worse, [2]float64{0, 0.1}},
		{0, 30, 1, inference.NoDifference, [2]float64{0, 0.033}}, // 2 of 60
		{0, 10, 3, inference.Worse, [2]float64{0, 0.1}},
		{20, 10, 5, inference.NoDifference, [2]float64{0.05, 0.1}},
		{20, 10, 10, inference.Worse, [2]float64{0.05, 0.1}},
		{10, 0, 5, inference.Better, [2]float64{0.1, 0}},
		{10, 10, 5, inference.NoDifference, [2]float64{0.1, 0.1}},
	} {
		r := rowOf(t, Compare(side(1, tt.runs, tt.old), side(20, tt.runs, tt.new), Options{}).Levels[0], "failed_share")
		if r.Verdict != tt.verdict || math.Abs(r.Old.Value-tt.values[0]) > 0.02 || math.Abs(r.New.Value-tt.values[1]) > 0.02 {
			t.Errorf("%d runs, every %d against every %d: %v → %v, %v (p %v)", tt.runs, tt.old, tt.new, r.Old.Value, r.New.Value, r.Verdict, r.P)
		}
	}
}

// Failures that come together in a run are worth less than as many that are spread over all runs: an outage
// in one of five runs says little about the build.
func TestClusteredFailures(t *testing.T) {
	same := func(n int, c count) (all []count) {
		for range n {
			all = append(all, c)
		}
		return all
	}
	for _, tt := range []struct {
		name         string
		older, newer []count
		want         inference.Verdict
		doubt        string
	}{
		{"spread over the runs", same(5, count{0, 60}), same(5, count{4, 60}), inference.Worse, ""},
		{"all in one run", same(5, count{0, 60}), append(same(4, count{0, 60}), count{20, 60}), inference.NoDifference, "failed 6.7 % instead of 0 % of the requests, but the failures came together in some of the runs; record more runs"},
		{"in one run, and many more in all", same(5, count{0, 60}), []count{{30, 60}, {25, 60}, {40, 60}, {55, 60}, {28, 60}}, inference.Worse, ""},
		{"a few", same(1, count{0, 30}), same(1, count{3, 30}), inference.NoDifference, "failed 10 % instead of 0 % of the requests; that few failures may be chance: record more requests"},
		{"the same", same(5, count{2, 60}), same(5, count{2, 60}), inference.NoDifference, ""},
		{"no requests", same(1, count{}), same(1, count{1, 2}), inference.NotAvailable, ""},
	} {
		l := &LevelDiff{failures: failures{older: tt.older, newer: tt.newer, tests: 1, known: true}}
		if v, p := l.failures.verdict(); v != tt.want {
			t.Errorf("%s: %v (p %v), want %v", tt.name, v, p, tt.want)
		}
		if got := l.failures.doubt(l); got != tt.doubt {
			t.Errorf("%s: doubt %q, want %q", tt.name, got, tt.doubt)
		}
	}
}

// If nothing differs, at most 2 in 100 comparisons find that a side fails more, and 4 in 100 if each run has an
// outage, of a tenth of its requests on average. If half of the new requests fail, three runs always show it.
func TestFailuresOfSides(t *testing.T) {
	t.Parallel()
	const comparisons = 2000
	type draw func(*rand.Rand) count
	share := func(p float64) draw { return func(random *rand.Rand) count { return binomial(random, 60, p) } }
	outage := func(random *rand.Rand) count { return count{min(60, int(6*random.ExpFloat64())), 60} }
	for _, tt := range []struct {
		name         string
		runs         int
		older, newer draw
		least, most  float64 // share of comparisons that find something
	}{
		{"independent, 2 %", 5, share(0.02), share(0.02), 0, 0.02},
		{"independent, 30 %", 5, share(0.3), share(0.3), 0, 0.02},
		{"outages", 5, outage, outage, 0, 0.04},
		{"half fails", 3, share(0), share(0.5), 0.995, 1},
		{"a tenth fails", 5, share(0), share(0.1), 0.98, 1},
	} {
		random := rand.New(rand.NewPCG(3, 9))
		found := 0
		for range comparisons {
			f := failures{tests: 1, known: true}
			for range tt.runs {
				f.older, f.newer = append(f.older, tt.older(random)), append(f.newer, tt.newer(random))
			}
			if v, _ := f.verdict(); v != inference.NoDifference {
				found++
			}
		}
		slack := 3 * math.Sqrt(tt.most*(1-tt.most)/comparisons)
		if had := float64(found) / comparisons; had < tt.least || had > tt.most+slack {
			t.Errorf("%s: %d of %d comparisons find something, want %v to %v", tt.name, found, comparisons, tt.least, tt.most)
		}
	}
}

// binomial returns how many of n requests fail.
func binomial(random *rand.Rand, n int, p float64) count {
	c := count{all: n}
	for range n {
		if random.Float64() < p {
			c.failed++
		}
	}
	return c
}

// A tail moves with the number of requests, so it is compared over equal numbers only.
func TestTailsOfEqualNumbers(t *testing.T) {
	side := func(seed uint64, runs, requests int) []*Run {
		var all []*Run
		for i := range uint64(runs) {
			all = append(all, read(t, "run", recipe{seed: seed + i, requests: requests, tokens: 3, ttft: 30, itl: 20}))
		}
		return all
	}
	for _, tt := range []struct {
		runs, old, new int
		metric         string
		given          bool
	}{
		{3, 60, 60, "ttft_p99", true},
		{3, 60, 65, "ttft_p99", true}, // within a tenth
		{3, 60, 300, "ttft_p99", false},
		{3, 60, 300, "ttft_p90", false},
		{3, 60, 300, "ttft_p50", true},
		{3, 110, 300, "ttft_p90", true}, // 11 values lie beyond the p90
		{1, 400, 800, "ttft_p99", false},
		{1, 500, 500, "ttft_p99", true},
	} {
		r := rowOf(t, Compare(side(1, tt.runs, tt.old), side(20, tt.runs, tt.new), Options{}).Levels[0], tt.metric)
		if r.NA.Missing() == tt.given || !tt.given && !strings.Contains(r.NA.Reason, fmt.Sprintf("old has %d values a run and new %d", tt.old, tt.new)) {
			t.Errorf("%+v: %q", tt, r.NA.Reason)
		}
	}
}

// Other metrics are judged on request; their verdicts rest on the intervals shown.
func TestPrimary(t *testing.T) {
	older, newer := side6(t, "old", 10, 20), side6(t, "new", 20, 21)
	res := Compare(older, newer, Options{Primary: []string{"itl_mean", "ttft_p99"}})
	judged := 0
	for i := range res.Levels {
		for _, r := range res.Levels[i].Rows {
			if want := r.Metric.Key == "itl_mean" || r.Metric.Key == "ttft_p99"; r.Primary != want || (r.Verdict != inference.NotAvailable) != want {
				t.Errorf("%s: primary %v, verdict %v", r.Metric.Key, r.Primary, r.Verdict)
			}
			if r.Primary {
				judged++
				if found := r.Verdict == inference.Worse || r.Verdict == inference.Better; found == r.Shown().Contains(0) {
					t.Errorf("%s is %v, and its interval %v", r.Metric.Key, r.Verdict, r.Shown())
				}
			} else if r.Level != confidence {
				t.Errorf("%s: the interval is at %v", r.Metric.Key, r.Level)
			}
		}
	}
	if judged != 4 || res.Family != 6 { // two metrics at two levels, and over both
		t.Errorf("%d judged, a family of %d; want 4 and 6", judged, res.Family)
	}
	o := Options{Primary: []string{"itl_mean"}}
	if _, err := o.ParseGate("itl_mean worse"); err != nil {
		t.Error(err)
	}
	if _, err := o.ParseGate("ttft_p50 worse"); err == nil {
		t.Error("a condition on the verdict of a metric that has none")
	}
	if err := CheckPrimary([]string{"itl_mean", "nonsense"}, false); err == nil || !strings.Contains(err.Error(), `"nonsense" is not a metric; give some of ttft_p50`) {
		t.Error(err)
	}
}

// Two single runs differ, but neither is better or worse; a condition on that is n/a.
func TestSingleRunsAreNeverWorse(t *testing.T) {
	res := Compare([]*Run{read(t, "old.json", recipe{seed: 1, requests: 1500, tokens: 6, ttft: 30, itl: 20})},
		[]*Run{read(t, "new.json", recipe{seed: 2, requests: 1500, tokens: 6, ttft: 30, itl: 21})}, Options{})
	e, err := (&Options{}).ParseGate("tpot_p50 worse")
	if err != nil {
		t.Fatal(err)
	}
	if res.Gate([]*GateExpr{e}) || res.Gates[len(res.Gates)-1].State != GateUnknown {
		t.Errorf("%+v", res.Gates[len(res.Gates)-1])
	}
}

// Gates at levels of one side, of what has no ratio, and of what no run has.
func TestGateUnknown(t *testing.T) {
	run := func(seed uint64, levels ...string) []*Run {
		return []*Run{read(t, "run", recipe{seed: seed, requests: 5, tokens: 1, ttft: 30, itl: 20, levels: levels})}
	}
	for _, tt := range []struct {
		text     string
		old, new []*Run
		state    []GateState
		because  string // of the last
	}{
		{"new.ttft_p50>1s", run(1, "1", "2"), run(2, "1"), []GateState{GateClear, GateUnknown}, "only the old side has this level; --experiment chooses levels"},
		{"new.ttft_p50>1s", run(1, "1"), run(2, "1", "2", "4"), []GateState{GateClear, GateUnknown, GateUnknown}, "only the new side has this level; --experiment chooses levels"},
		{"failed_share>+5%", run(1, "1"), run(2, "1"), []GateState{GateUnknown}, "failed_share is n/a: there is no ratio to 0; give a limit for new.failed_share"},
		{"tpot_p50 worse", run(1, "1"), run(2, "1"), []GateState{GateUnknown}, "tpot_p50 has no verdict: neither side has a value"},
		{"itl_p50.high>+5%", run(1, "1"), run(2, "1"), []GateState{GateUnknown}, "itl_p50.high is n/a: neither side has a value"},
		{"old.ttft_p50>1ms && new.ttft_p50>1ms", run(1, "1"), run(2, "1"), []GateState{GateTripped}, ""},
	} {
		e, err := (&Options{}).ParseGate(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		res := Compare(tt.old, tt.new, Options{})
		passed := res.Gate([]*GateExpr{e})
		var states []GateState
		for _, g := range res.Gates {
			states = append(states, g.State)
		}
		last := res.Gates[len(res.Gates)-1]
		if d := cmp.Diff(tt.state, states); d != "" || passed || tt.because != "" && strings.Join(last.Because, ", ") != tt.because {
			t.Errorf("%s: passed %v, %q (-want +got):\n%s", tt.text, passed, last.Because, d)
		}
	}
}

// Unequal numbers of runs and runs of few requests are named: they decide what can be found, or count as much
// as the others.
func TestUnequalSides(t *testing.T) {
	run := func(seed uint64, requests int) *Run {
		return read(t, fmt.Sprintf("run-%d", seed), recipe{seed: seed, requests: requests, tokens: 3, ttft: 30, itl: 20})
	}
	older := []*Run{run(1, 60), run(2, 60), run(3, 60)}
	newer := []*Run{run(11, 60), run(12, 1), run(13, 60), run(14, 60)}
	want := []string{
		"old has 3 runs and new 4: record equal numbers, because the smaller side decides what can be found",
		"concurrency 4: run-12 has 1 request and most runs 60, but counts as much as they do; --exclude-run leaves it out",
	}
	if d := cmp.Diff(want, Compare(older, newer, Options{}).Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	if got := Compare(older, newer, Options{LeaveOut: LeaveOut{Runs: []string{"new.2"}}}); len(got.Warnings) > 0 || len(got.LeftOut) != 1 || got.LeftOut[0].Name != "run-12" {
		t.Errorf("%q, left out %v", got.Warnings, got.LeftOut)
	}
}

// Names of runs to leave out, and how many are left.
func TestLeaveOut(t *testing.T) {
	for _, tt := range []struct {
		x          LeaveOut
		sides      Sides
		older, new int // that are left of 5 and 4
		err        string
	}{
		{LeaveOut{}, Sides{}, 5, 4, ""},
		{LeaveOut{Runs: []string{"old.1", "new.4", "old.1"}}, Sides{}, 4, 3, ""},
		{LeaveOut{Runs: []string{"old.1", "old.5"}, First: 1}, Sides{}, 3, 3, ""},
		{LeaveOut{Runs: []string{"v1.2.3", "new.1"}}, Sides{Old: "v1.2", New: "v1.3"}, 4, 3, ""},
		{LeaveOut{Runs: []string{"new.5"}}, Sides{}, 0, 0, "there is no run new.5: the new side has 4"},
		{LeaveOut{First: 4}, Sides{}, 0, 0, "no run of the new side is left"},
		{LeaveOut{First: 9}, Sides{}, 0, 0, "there is no run old.9: the old side has 5"},
		{LeaveOut{Runs: []string{"old"}}, Sides{}, 0, 0, `"old" is not a run; write old.1 for the first run of the old side`},
		{LeaveOut{Runs: []string{"old.0"}}, Sides{Old: "a"}, 0, 0, `"old.0" is not a run; write a.1 for the first run of the a side`},
		{LeaveOut{Runs: []string{"b.1"}}, Sides{Old: "a"}, 0, 0, `"b.1" names no side; the sides are a and new`},
	} {
		o, n, err := tt.x.Remaining(5, 4, tt.sides)
		if got := fmt.Sprint(err); o != tt.older || n != tt.new || (tt.err == "") != (err == nil) || err != nil && got != tt.err {
			t.Errorf("%+v: %d and %d, %v; want %d and %d, %s", tt.x, o, n, err, tt.older, tt.new, tt.err)
		}
	}
}
