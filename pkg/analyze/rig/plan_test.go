package rig

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// usualPlan are the options of the command by default.
var usualPlan = PlanOptions{Change: 0.05, Power: 0.8}

// plannedSeries reads runs with these times to the first token, in ms. change may be nil.
func plannedSeries(t *testing.T, ttft []float64, change func(i int, s *memrun.Spec, m *export.RunMeta)) ([]*diff.Run, *Within) {
	t.Helper()
	var runs []*diff.Run
	var within Within
	for i, ms := range ttft {
		s := memrun.Spec{Name: fmt.Sprintf("run.%d.json", i+1), Second: uint64(60 * i), TTFT: ms, ITL: 20 + 0.1*float64(i%3)}
		meta := export.RunMeta{}
		if change != nil {
			change(i, &s, &meta)
		}
		r := s.Reader()
		r.Header.Meta.Args, r.Header.Meta.StartNS, r.Header.Meta.EndNS, r.Header.Meta.Shard = meta.Args, meta.StartNS, meta.EndNS, meta.Shard
		runs = append(runs, readPlanned(t, s.Name, r, &within))
	}
	return runs, &within
}

// readPlanned reads a run as the command does.
func readPlanned(t *testing.T, name string, r *memrun.Reader, within *Within) *diff.Run {
	t.Helper()
	run, err := diff.Read(t.Context(), name, r, analyze.Config{Series: true})
	if err != nil {
		t.Fatal(err)
	}
	within.Add(run)
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	return run
}

// lognormal is a run of requests whose times to the first token are lognormal around 50 ms.
func lognormal(rng *rand.Rand, n int, deviation, factor float64) *memrun.Reader {
	r := memrun.Spec{Requests: n, TTFT: 50, ITL: 20}.Reader()
	for i := range r.Requests[0] {
		x := &r.Requests[0][i]
		shift := uint64(50e6 * factor * math.Exp(deviation*rng.NormFloat64()))
		for k := range x.Responses {
			x.Responses[k].RecvNS += shift
		}
	}
	return r
}

func TestPlanHeadlines(t *testing.T) {
	t.Parallel()
	steady := []float64{30.25, 29.9, 30.45, 30.1, 29.7}
	minute := func(i int, _ *memrun.Spec, m *export.RunMeta) {
		m.StartNS, m.EndNS = uint64(1_700_000_000+60*i)*1e9, uint64(1_700_000_060+60*i)*1e9
	}
	for _, tt := range []struct {
		name   string
		ttft   []float64
		change func(int, *memrun.Spec, *export.RunMeta)
		o      PlanOptions
		want   []string
	}{
		{
			"five runs", steady, minute, usualPlan,
			[]string{"to find a change of 5 % in TTFT p50, TPOT p50, E2EL p50 or output tokens/s 80 % of the time: 4 runs a side of 10 requests, 8 minutes in all; to show that there is none: 3 runs a side of 10 requests, 6 minutes in all"},
		},
		{
			"a small change, more often", steady, minute,
			PlanOptions{Change: 0.0125, Power: 0.95},
			[]string{"to find a change of 1.25 % in"},
		},
		{
			"runs that differ much",
			[]float64{30, 60, 90, 20, 70},
			minute,
			PlanOptions{Change: 0.001, Power: 0.8},
			[]string{"80 % of the time: more than 1,000 runs a side; to show that there is none: more than 1,000 runs a side"},
		},
		{"one run", steady[:1], nil, usualPlan, []string{"cannot tell how many runs are enough: one run does not show how much runs differ by chance; at least 3 are needed"}},
		{"two runs", steady[:2], nil, usualPlan, []string{"cannot tell how many runs are enough: 2 runs do not show how much runs differ by chance; at least 3 are needed"}},
		{
			"not comparable", steady, func(i int, s *memrun.Spec, _ *export.RunMeta) {
				if i == 2 {
					s.Model = "large"
				}
			}, usualPlan, []string{"cannot tell how many runs are enough: the runs are not comparable"},
		},
		{"equal runs", []float64{30, 30, 30}, func(_ int, s *memrun.Spec, _ *export.RunMeta) { s.ITL = 20 }, usualPlan, []string{"cannot tell how many runs are enough: no run differs from the others"}},
		{
			"two levels", steady, func(_ int, s *memrun.Spec, _ *export.RunMeta) { s.Levels = []string{"1", "4"} }, usualPlan,
			[]string{"concurrency 1: to find a change of 5 % in", "concurrency 4: to find a change of 5 % in"},
		},
	} {
		runs, within := plannedSeries(t, tt.ttft, tt.change)
		res := MakePlan(diff.OneServer(runs, nil), within, tt.o)
		got := res.Headlines()
		if why := map[string]string{
			"runs that differ much": "more than 1,000 runs a side are needed; plan for a larger --change, or record longer runs",
			"equal runs":            "no number of runs is known for every level", "not comparable": "the runs are not comparable",
		}[tt.name]; why != "" && res.NoCommand != why {
			t.Errorf("%s: no command because %q, want %q", tt.name, res.NoCommand, why)
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q", tt.name, got)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", tt.name, got[i], want)
			}
		}
	}
}

// A metric that needs many more runs than the others is named.
func TestCostlyMetric(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		find []int
		want string
	}{
		{[]int{4, 400, 85, 3}, "TTFT p90 needs the most runs; for a change in the other metrics, 85 runs a side are enough."},
		{[]int{400, 85}, "TTFT p50 needs the most runs; for a change in the other metrics, 85 runs a side are enough."},
		{[]int{4, 7, 3}, ""},
		{[]int{400}, ""},       // edge: there is no other
		{[]int{0, 400, 0}, ""}, // edge: the others are not known
		{[]int{4, 2000, 1}, "TTFT p90 needs the most runs; for a change in the other metrics, 4 runs a side are enough."},
	} {
		var l LevelPlan
		for i, k := range tt.find {
			l.Rows = append(l.Rows, &PlanRow{Metric: diff.Metrics[i], Find: k})
		}
		if got := l.costly(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.find, got, tt.want)
		}
	}
}

// A smaller change, and a greater share of comparisons that find it, take no fewer runs.
func TestMoreTakesMore(t *testing.T) {
	t.Parallel()
	runs, within := plannedSeries(t, []float64{30, 31, 30.5, 29, 30.2, 29.7}, nil)
	sides := func(o PlanOptions) (find, exclude int) {
		l := MakePlan(diff.OneServer(runs, nil), within, o).Levels[0]
		return l.Find, l.Exclude
	}
	find, exclude := sides(PlanOptions{0.05, 0.8})
	for _, o := range []PlanOptions{{0.02, 0.8}, {0.05, 0.95}} {
		if f, e := sides(o); f <= find || e <= exclude {
			t.Errorf("%+v: %d and %d runs a side, beside %d and %d", o, f, e, find, exclude)
		}
	}
}

// The command of a recording is repeated as it was, without what the plan replaces.
func TestPlannedCommand(t *testing.T) {
	t.Parallel()
	steady := []float64{30.25, 29.9, 30.45, 30.1, 29.7}
	for _, tt := range []struct {
		name  string
		runs  int
		args  []string
		shard bool
		label string
		line  string // "": none
		why   string
	}{
		{
			"as it was", 5,
			[]string{"/opt/bin/pa-record", "-u", "sim://?ttft=1ms&itl=2ms", "--streaming", "--request-count", "60"},
			false, "",
			"pa-record -u 'sim://?ttft=1ms&itl=2ms' --streaming --request-count 60 --repeat 4 --profile-export-file planned.json", "",
		},
		{
			"replaced flags in all forms", 5,
			[]string{"pa-record", "--repeat", "5", "-m", "x", "--profile-export-file=a.json", "-profile-export-file", "b.parquet", "--repea=7", "--html", "p.html", "--report"},
			false, "",
			"pa-record -m x --report --repeat 4 --profile-export-file planned.json", "",
		},
		{
			"flags that begin alike", 5,
			[]string{"pa-record", "--request-count", "9", "-r", "3", "-p", "100", "--re=x"},
			false, "",
			"pa-record --request-count 9 -r 3 -p 100 --re=x --repeat 4 --profile-export-file planned.json", "",
		},
		{"one run", 1, []string{"pa-record", "-m", "x"}, false, "", "pa-record -m x --repeat 5 --profile-export-file planned.json", ""},
		{
			"servers with labels", 5,
			[]string{"pa-record", "-u", "old=a:1", "-u", "new=b:1"},
			false, "old",
			"pa-record -u old=a:1 -u new=b:1 --repeat 4 --profile-export-file planned.json", "",
		},
		{"a search", 5, []string{"pa-record", "--binary-search", "-l", "9"}, false, "", "", "the recording searched for its loads with --binary-search, which excludes --repeat"},
		{"another tool", 5, nil, false, "", "", "the files do not hold a command line of pa-record"},
		{"several processes", 5, []string{"pa-record"}, true, "", "", "start each of them with --repeat 4"},
		{"control characters", 5, []string{"pa-record", "-m", "\x1b[31m"}, false, "", "", "control characters"},
	} {
		runs, within := plannedSeries(t, steady[:tt.runs], func(_ int, s *memrun.Spec, m *export.RunMeta) {
			m.Args = tt.args
			if tt.shard {
				m.Shard = &export.ShardMeta{}
			}
			if tt.label != "" {
				s.Group, s.Label = "g", tt.label
			}
		})
		res := MakePlan(diff.OneServer(runs, nil), within, usualPlan)
		if res.Command.Line != tt.line || !strings.HasPrefix(res.NoCommand, tt.why) && !strings.Contains(res.NoCommand, tt.why) || (tt.line == "") != (res.NoCommand != "") {
			t.Errorf("%s: %q, no command because %q; want %q, %q", tt.name, res.Command.Line, res.NoCommand, tt.line, tt.why)
		}
		if want := tt.label != "" && tt.line != ""; res.Command.AllSides != want || want && res.Command.Files != "'planned.old.*.json'" {
			t.Errorf("%s: %+v", tt.name, res.Command)
		}
		if res.Command.Pilot != (tt.runs < MinRuns && tt.line != "") {
			t.Errorf("%s: pilot %v", tt.name, res.Command.Pilot)
		}
	}
}

// All formats show the plan, follow the schema, and keep texts of files out of markup.
func TestPlanFormats(t *testing.T) {
	t.Parallel()
	schema := schematest.Open(t, "plan.schema.json")
	for name, n := range map[string]int{"five runs": 5, "one run": 1} {
		rng := rand.New(rand.NewPCG(1, 1))
		var within Within
		var runs []*diff.Run
		for i := range n {
			r := lognormal(rng, 60, 0.2, 1+0.01*float64(i%3))
			for k := range r.Requests[0] { // runs at other times
				x := &r.Requests[0][k]
				x.StartNS += uint64(i) * 1e12
				for j := range x.Responses {
					x.Responses[j].RecvNS += uint64(i) * 1e12
				}
			}
			r.Header.Meta.Args = []string{"pa-record", "-H", "X: [redacted]", "-m", "a|b`"}
			runs = append(runs, readPlanned(t, fmt.Sprintf("x|%d\x1b.json", i), r, &within))
		}
		res := MakePlan(diff.OneServer(runs, nil), &within, usualPlan)
		for _, format := range []string{"text", "markdown", "json"} {
			var b bytes.Buffer
			if err := res.Formats().In(format, 80)(&b); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.Contains(text, "\x1b") || !strings.Contains(text, "planned.json") || !strings.Contains(text, "5 %") && format != "json" {
				t.Errorf("%s, %s:\n%s", name, format, text)
			}
			if format == "json" {
				if err := schema.Check(t, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if format == "text" && !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasSuffix(line, res.Command.Line) }) {
				t.Errorf("%s: the command is not on one line:\n%s", name, text)
			}
		}
	}
}

// Comparisons of as many runs as planned find a change in one of four metrics in about 80 of 100 comparisons after
// Holm's adjustment, and exclude a change in all four as often, on average over the runs of the plan.
func TestPlanKeepsItsPromise(t *testing.T) {
	t.Parallel()
	var metrics []*diff.Metric
	for i := range diff.Metrics {
		if diff.Judged(diff.Metrics[i], false) {
			metrics = append(metrics, diff.Metrics[i])
		}
	}
	deviations := []float64{0.03, 0.02, 0.03, 0.025}
	rng := rand.New(rand.NewPCG(3, 3))
	sample := func(n int, deviation, mean float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(mean + deviation*rng.NormFloat64())
		}
		return x
	}
	const first = 6
	replications := 400 / testenv.Stride(8)
	found, excluded := 0, 0
	var needs planner
	var within Within
	for range replications {
		l := LevelPlan{Group: &diff.Group{Levels: make([]*diff.RunLevel, first)}}
		for i := range l.Levels {
			l.Levels[i] = &diff.RunLevel{}
		}
		var rows []*Row
		for i, m := range metrics {
			logs, mean, squares := sample(first, deviations[i], 0), 0.0, 0.0
			for _, v := range logs {
				mean += math.Log(v) / first
			}
			for _, v := range logs {
				squares += (math.Log(v) - mean) * (math.Log(v) - mean)
			}
			// In steps of 5 %, for which the planner has computed its tests before.
			s := math.Exp(math.Round(math.Log(math.Sqrt(squares/(first-1)))*20) / 20)
			rows = append(rows, &Row{Metric: m, Deviation: s})
		}
		l.several(rows, &within, usualPlan, &needs)
		var p []float64
		all := true
		for i := range l.Rows {
			effect := 0.0
			if i == 0 {
				effect = math.Log1p(usualPlan.Change)
			}
			p = append(p, inference.Welch(sample(l.Rows[0].Find, deviations[i], 0), sample(l.Rows[0].Find, deviations[i], effect)).P)
			c := inference.Welch(sample(l.Exclude, deviations[i], 0), sample(l.Exclude, deviations[i], 0))
			ends := c.Interval(0.90)
			all = all && ends.High < usualPlan.Change && 1/(1+ends.Low)-1 < usualPlan.Change
		}
		if inference.Holm(p)[0] <= alpha {
			found++
		}
		if all {
			excluded++
		}
	}
	for what, n := range map[string]int{"found": found, "excluded": excluded} {
		if share := float64(n) / float64(replications); share < 0.68 || share > 0.94 {
			t.Errorf("%s in %.0f %% of comparisons, want about 80 %%", what, 100*share)
		}
	}
}

// Two single runs of as many requests as planned from one run find the change in about 80 of 100 comparisons.
func TestSingleRunsKeepTheirPromise(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	for _, deviation := range []float64{0.15, 0.3} {
		found, planned := 0, 0.0
		replications := 160 / testenv.Stride(4)
		for range replications {
			var within Within
			run := readPlanned(t, "x", lognormal(rng, 200, deviation, 1), &within)
			l := MakePlan(diff.OneServer([]*diff.Run{run}, nil), &within, usualPlan).Levels[0]
			i := slices.IndexFunc(l.Rows, func(r *PlanRow) bool { return r.Metric.Key == "ttft_mean" })
			n := int(l.Rows[i].SingleRequests)
			planned += float64(n) / float64(replications)
			side := func(factor float64) inference.Estimate {
				x := make([]float64, n)
				for i := range x {
					x[i] = factor * (50 + 50*math.Exp(deviation*rng.NormFloat64()))
				}
				return inference.NewSeries(x).Mean()
			}
			// The planned comparison adjusts three p-values.
			if c := inference.Change(side(1), side(1+usualPlan.Change)); c.P <= alpha/3 {
				found++
			}
		}
		if share := float64(found) / float64(replications); share < 0.62 || share > 0.97 {
			t.Errorf("log-deviation %v: found by %.0f requests in %.0f %% of comparisons, want about 80 %%", deviation, planned, 100*share)
		}
	}
}
