package pareto

import (
	"bytes"
	"encoding/csv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// A rates is a level with these rates of a user and in total.
type rates struct{ user, total float64 }

// inputOf returns the report of a file whose levels have these rates on gpus GPUs.
func inputOf(name string, gpus int, levels ...rates) report.Input {
	rep := &analyze.Report{}
	for i, l := range levels {
		rep.Experiments = append(rep.Experiments, analyze.Experiment{
			Mode: "concurrency", Value: string(rune('1' + i)),
			Level: figure.Level{
				Throughput: figure.Throughput{OutputTokens: figure.Rate{PerSecond: l.total, OK: true}, TotalTokens: figure.Rate{PerSecond: 3 * l.total, OK: true}},
				Economics:  &figure.Economics{GPUs: gpus, Figures: []figure.Figure{{Key: figure.KeyUserRate, Value: l.user}, {Key: figure.KeyUserRateE2E, Value: l.user / 2}}},
			},
		})
	}
	return report.Input{Name: name, Report: rep}
}

// sweep has five levels. The last level is not on the frontier: the second is better in both rates.
var sweep = []rates{{100, 10}, {80, 40}, {50, 60}, {20, 70}, {60, 30}}

// By hand. Area above 0, 0: 20·70 + (50−20)·60 + (80−50)·40 + (100−80)·10 = 4600. Above 30, 20:
// (50−30)·(60−20) + (80−50)·(40−20) = 1400. Scaled between the ends (20, 70) and (100, 10), the second
// level is at (0.75, 0.5), 0.25 beyond the chord u + v = 1, and the third at (0.375, 0.833), 0.208
// beyond: the knee is the second.
func TestFrontByHand(t *testing.T) {
	for _, tt := range []struct {
		gpus int
		o    Options
		area float64
	}{
		{1, Options{}, 4600},
		{1, Options{UserReference: 30, RateReference: 20}, 1400},
		{2, Options{}, 2300},
		{1, Options{TotalTokens: true}, 3 * 4600},
		{1, Options{WholeRequest: true}, 4600.0 / 2},
		{0, Options{}, 4600}, // the number of GPUs is not known: total
	} {
		r := Analyze([]report.Input{inputOf("a.json", tt.gpus, sweep...)}, tt.o)
		if r.All.Area != tt.area || !slices.Equal(r.All.Points, []int{3, 2, 1, 0}) || r.All.Knee != 1 || r.Files != nil || r.PerGPU != (tt.gpus > 0) || (len(r.Notes) > 0) != (tt.gpus == 0) {
			t.Errorf("%+v: %+v, per GPU %v, notes %q; want the area %v", tt, r.All, r.PerGPU, r.Notes, tt.area)
		}
		if r.Points[4].Frontier || !r.Points[1].Frontier || !strings.Contains(r.RateName(), map[bool]string{true: "/GPU", false: ", total"}[r.PerGPU]) {
			t.Errorf("%+v: points %+v, rate %s", tt, r.Points, r.RateName())
		}
	}
}

// Files with different numbers of GPUs share one frontier; each has its own as well.
func TestFilesShareFrontier(t *testing.T) {
	// Per GPU: a has (100, 10), (50, 20); b, of two GPUs, (90, 15), (40, 30), (50, 5).
	r := Analyze([]report.Input{inputOf("a.json", 1, rates{100, 10}, rates{50, 20}), inputOf("b.json", 2, rates{90, 30}, rates{40, 60}, rates{50, 10})}, Options{})
	if !slices.Equal(r.All.Points, []int{3, 1, 2, 0}) || !slices.Equal(r.Files[0].Points, []int{1, 0}) || !slices.Equal(r.Files[1].Points, []int{3, 2}) {
		t.Errorf("%+v\n%+v", r.All, r.Files)
	}
	// 40·30 + 10·20 + 40·15 + 10·10, and 50·20 + 50·10, and 40·30 + 50·15.
	if r.All.Area != 2100 || r.Files[0].Area != 1500 || r.Files[1].Area != 1950 {
		t.Errorf("areas %v, %v, %v", r.All.Area, r.Files[0].Area, r.Files[1].Area)
	}
	if r.Files[0].Knee != -1 || r.Files[0].KneeWhy != "a knee needs 3 levels on the frontier, and there are 2" {
		t.Errorf("%+v", r.Files[0])
	}
	// One file without the number of GPUs makes all rates totals.
	r = Analyze([]report.Input{inputOf("a.json", 1, rates{100, 10}), inputOf("b.json", 0, rates{90, 30})}, Options{})
	if r.PerGPU || !strings.Contains(r.Notes[0], "b.json does not tell") {
		t.Errorf("%+v", r)
	}
}

// Edges: equal levels are both on the frontier; a straight or hollow frontier has no knee; levels
// without a rate are left out with the reason.
func TestFrontEdges(t *testing.T) {
	r := Analyze([]report.Input{inputOf("a", 1, rates{10, 10}, rates{10, 10}, rates{10, 5}, rates{5, 10})}, Options{})
	if !slices.Equal(r.All.Points, []int{1, 0}) || r.All.Area != 100 || r.All.Knee != -1 {
		t.Errorf("%+v", r.All)
	}
	for _, levels := range [][]rates{{{1, 3}, {2, 2}, {3, 1}}, {{1, 9}, {2, 2}, {9, 1}}} {
		if r := Analyze([]report.Input{inputOf("a", 1, levels...)}, Options{}); r.All.Knee != -1 || !strings.HasPrefix(r.All.KneeWhy, "no level lies beyond") {
			t.Errorf("%+v", r.All)
		}
	}
	in := inputOf("a", 1, sweep...)
	in.Report.Experiments[0].Economics.Figures[0] = figure.Figure{Key: figure.KeyUserRate, Label: "speed", Why: "not streamed"}
	in.Report.Experiments[1].Throughput.OutputTokens = figure.Rate{}
	in.Report.Experiments[2].Economics = nil
	r = Analyze([]report.Input{in}, Options{})
	if r.Points[0].Why != "speed: not streamed" || r.Points[1].Why != "the rate of tokens is not known" || r.Points[2].Why != "no figures" || !slices.Equal(r.All.Points, []int{3, 4}) {
		t.Errorf("%+v\n%+v", r.Points, r.All)
	}
	if r := Analyze(nil, Options{}); len(r.All.Points) != 0 || r.All.Area != 0 || r.All.Knee != -1 {
		t.Errorf("nothing: %+v", r)
	}
}

// Of random levels, the frontier is what the definition says level by level, the area is the area of
// the union of rectangles, and neither depends on the order of the levels.
func TestFrontByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var levels []rates
		for range 1 + rng.IntN(12) {
			levels = append(levels, rates{float64(rng.IntN(9)), float64(rng.IntN(9))})
		}
		o := Options{UserReference: float64(rng.IntN(3)), RateReference: float64(rng.IntN(3))}
		r := Analyze([]report.Input{inputOf("a", 1, levels...)}, o)
		for i, p := range levels {
			dominated := slices.ContainsFunc(levels, func(q rates) bool {
				return q.user >= p.user && q.total >= p.total && (q.user > p.user || q.total > p.total)
			})
			if r.Points[i].Frontier == dominated {
				t.Fatalf("%v: level %d: on the frontier: %v", levels, i, r.Points[i].Frontier)
			}
		}
		area := 0.0 // of the unit squares that a level covers
		for x := o.UserReference; x < 10; x++ {
			for y := o.RateReference; y < 10; y++ {
				if slices.ContainsFunc(levels, func(q rates) bool { return q.user >= x+1 && q.total >= y+1 }) {
					area++
				}
			}
		}
		if r.All.Area != area {
			t.Fatalf("%v above %v: area %v, want %v", levels, o, r.All.Area, area)
		}
		knee := func(r *Result) rates {
			if r.All.Knee < 0 {
				return rates{-1, -1} // no level has these
			}
			return rates{r.Points[r.All.Knee].UserRate, r.Points[r.All.Knee].Rate}
		}
		before := knee(r)
		rng.Shuffle(len(levels), func(i, j int) { levels[i], levels[j] = levels[j], levels[i] })
		again := Analyze([]report.Input{inputOf("a", 1, levels...)}, o)
		if after := knee(again); again.All.Area != r.All.Area || len(again.All.Points) != len(r.All.Points) || after != before {
			t.Fatalf("the order of the levels changes the frontier: %+v, %+v", r.All, again.All)
		}
	}
}

// The formats hold the same; JSON is valid by the schema, and CSV has the documented columns.
func TestFormats(t *testing.T) {
	evil := inputOf("=b\x1b[31m", 2, rates{90, 30}, rates{40, 60}, rates{70, 60})
	evil.Report.Experiments[1].Economics.Figures[0].Why = "|no\n"
	first := inputOf("a.json", 1, sweep...)
	first.Report.Experiments = append(first.Report.Experiments, analyze.Experiment{Mode: "concurrency", Value: "2"})
	r := Analyze([]report.Input{first, evil}, Options{})
	var text, md, document, lines bytes.Buffer
	for format, to := range map[string]*bytes.Buffer{"text": &text, "markdown": &md, "json": &document, "csv": &lines} {
		if err := r.Formats().In(format, 0)(to); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"x: output tokens/s/user (1 / mean TPOT) · y: output tokens/s/GPU", "of its file", "knee at a.json concurrency 2", "a.json: area 4600 above 0, 0"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if strings.ContainsRune(text.String()+md.String()+lines.String(), 0x1b) {
		t.Error("an escape of a file's name comes through")
	}
	var failed string
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, "no figures") {
			failed = line
		}
	}
	if f := strings.Fields(failed); !slices.Equal(f, []string{"concurrency", "2", "a.json", "no", "figures"}) {
		t.Errorf("a level without figures is %q, want no number of GPUs", f)
	}
	rows, err := csv.NewReader(&lines).ReadAll()
	if err != nil || len(rows) != 1+9+3 || !strings.HasPrefix(rows[8][1], "'=b") {
		t.Errorf("%v: %q", err, rows)
	}
	doc, err := os.ReadFile("../../../schemas/pareto_csv.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		if !strings.Contains(string(doc), "`"+c+"`") {
			t.Errorf("schemas/pareto_csv.md lacks the column %s", c)
		}
	}
	if err := schematest.Open(t, "pareto.schema.json").Check(t, document.Bytes()); err != nil {
		t.Error(err)
	}
}
