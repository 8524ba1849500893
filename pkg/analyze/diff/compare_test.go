package diff

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

func rowOf(t *testing.T, l *LevelResult, key string) *Row {
	t.Helper()
	for i := range l.Rows {
		if l.Rows[i].Metric.Key == key {
			return &l.Rows[i]
		}
	}
	t.Fatalf("no row %s", key)
	return nil
}

// What comes out of the scenarios, apart from how it is written.
func TestVerdicts(t *testing.T) {
	all := scenarios(t)
	for _, tt := range []struct {
		scenario, metric string
		want             inference.Verdict
	}{
		{"single", "itl_p50", inference.Worse},
		{"single", "ttft_p50", inference.NoDifference},
		{"single", "output_tokens_per_s", inference.Worse},
		{"single", "itl_p99", inference.NotAvailable}, // descriptive
		{"paired", "e2el_p50", inference.Worse},
		{"several", "itl_p50", inference.Worse},
		{"several", "ttft_p50", inference.NoDifference},
		{"few", "ttft_p50", inference.NotAvailable},
		{"refused", "itl_p50", inference.NotAvailable},
		{"failed", "ttft_p50", inference.NotAvailable},
	} {
		if got := rowOf(t, &all[tt.scenario].Levels[0], tt.metric).Verdict; got != tt.want {
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
	if got := rowOf(t, &all["failed"].Levels[0], "failed_share"); got.New.Value != 1 || got.Old.Value != 0 {
		t.Errorf("failed shares %v and %v, want 0 and 1", got.Old.Value, got.New.Value)
	}
	if res := all["several"]; res.Family != 10 || len(res.Levels) != 2 {
		t.Errorf("%d p-values in %d levels, want 10 in 2", res.Family, len(res.Levels))
	}
}

// A run against itself: no difference anywhere, and values as in the report.
func TestSame(t *testing.T) {
	c := recipe{seed: 1, requests: 1500, tokens: 6, ttft: 30, itl: 20}
	res := Compare([]*Run{read(t, "a", c)}, []*Run{read(t, "b", c)}, Options{})
	if len(res.Differences) > 0 || len(res.Levels) != 1 || len(res.Levels[0].Rows) != len(Metrics) {
		t.Fatalf("%+v", res)
	}
	for _, r := range res.Levels[0].Rows {
		if r.Old.Value != r.New.Value || r.Metric.Key != "failed_share" && r.Change != 0 {
			t.Errorf("%s: %v and %v", r.Metric.Key, r.Old.Value, r.New.Value)
		}
		if r.Old.Value != r.OldRuns[0] && math.Abs(r.Old.Value/r.OldRuns[0]-1) > 1e-12 {
			t.Errorf("%s: the estimate %v is not the statistic %v", r.Metric.Key, r.Old.Value, r.OldRuns[0])
		}
		if r.Verdict != inference.NoDifference && r.Metric.Primary {
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

// Levels are matched by load; what only one side has is told. With the load
// ignored, a single level a side is compared whatever it is.
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
	prompts := func(n, different int, shift uint64) []prompt {
		var p []prompt
		for i := range n {
			p = append(p, prompt{place: i, input: (uint64(i) + shift) % uint64(different), ttft: 1, e2el: 2})
		}
		return p
	}
	missing := prompts(10, 5, 0)
	missing[3].ttft, missing[3].e2el = math.NaN(), math.NaN()
	for _, tt := range []struct {
		name     string
		old, new []prompt
		want     int
	}{
		{"the same", prompts(10, 5, 0), prompts(10, 5, 0), 10},
		{"one run is shorter", prompts(10, 5, 0), prompts(6, 5, 0), 6},
		{"one run is much shorter", prompts(10, 5, 0), prompts(4, 5, 0), 0},
		{"another order", prompts(10, 5, 0), prompts(10, 5, 1), 0},
		{"one prompt", prompts(10, 1, 0), prompts(10, 1, 0), 0},
		{"not recorded", nil, nil, 0},
		{"parts of two runs", prompts(20, 5, 0)[3:13], prompts(20, 5, 0)[5:15], 8},
		{"parts with little in common", prompts(20, 5, 0)[:10], prompts(20, 5, 0)[6:16], 0},
		{"one lacks a prompt", append(prompts(10, 5, 0)[:4:4], prompts(10, 5, 0)[5:]...), prompts(10, 5, 0), 9},
		{"one failed", missing, prompts(10, 5, 0), 9},
	} {
		if p := pairs(tt.old, tt.new); p.n != tt.want || (p.ttft != nil) != (tt.want > 0) || (p.e2el != nil) != (tt.want > 0) {
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
				e, err := ParseGate("ttft_p50>5% || new.e2el_p99>1h && 1h")
				if err == nil {
					t.Fatalf("%v", e)
				}
				if e, err = ParseGate("new.tpot_p50>1s"); err != nil {
					t.Fatal(err)
				}
				passed := res.Gate([]*gate.Expr{e})
				if name == "one token" && passed {
					t.Error("a gate on what does not exist passed")
				}
				for _, render := range renderers {
					var b bytes.Buffer
					if err := render(res)(&b); err != nil {
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
	if run.Levels[0].series[ttft] != nil {
		t.Error("the series are kept although they are not asked for")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(m.err)
	if _, err := Read(ctx, "run", recipe{seed: 1, requests: 5, tokens: 3, ttft: 30, itl: 20}.make(), analyze.Config{}); !errors.Is(err, m.err) {
		t.Errorf("%v, want the cause of the context", err)
	}
}
