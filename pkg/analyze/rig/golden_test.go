package rig

import (
	"flag"
	"fmt"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// series makes runs with these times to the first token, in milliseconds; the other times
// follow them by turns.
func series(t *testing.T, ttft []float64, change func(i int, s *memrun.Spec)) []*diff.Run {
	var runs []*diff.Run
	for i, ms := range ttft {
		s := memrun.Spec{Name: fmt.Sprintf("run.%d.json", i+1), Second: uint64(60 * i), TTFT: ms, ITL: 20 + 0.1*float64(i%3)}
		if change != nil {
			change(i, &s)
		}
		runs = append(runs, runtest.Read(t, s))
	}
	return runs
}

// scenarios returns the results of typical rigs by name. It makes them once.
func scenarios(t *testing.T) map[string]*Result {
	t.Helper()
	if madeScenarios == nil {
		madeScenarios = makeScenarios(t)
	}
	return madeScenarios
}

// madeScenarios holds the result of the first call of scenarios; nil before. No test changes it.
var madeScenarios map[string]*Result

func makeScenarios(t *testing.T) map[string]*Result {
	t.Helper()
	o := Options{RunsASide: []int{3, 5, 10}}
	effect := o
	effect.Effect = 0.02
	steady := []float64{30.2, 29.9, 30.4, 30.1, 29.8}
	return map[string]*Result{
		"steady": Analyze(diff.NewSet(series(t, steady, nil), nil), effect),
		"drifting": Analyze(diff.NewSet(series(t, []float64{30, 30.3, 30.5, 30.9, 31.1, 31.4, 31.8, 32}, func(i int, s *memrun.Spec) {
			s.Levels = []string{"1", "4"}
			if i == 7 {
				s.Levels = []string{"1"}
			}
		}), nil), Options{RunsASide: []int{4}}),
		"refused": Analyze(diff.NewSet(series(t, steady, func(i int, s *memrun.Spec) {
			if i > 2 {
				s.Model = "large|2"
			}
		}), nil), o),
		"failing": Analyze(diff.NewSet(series(t, steady, func(i int, s *memrun.Spec) { s.Failed = i }), nil), o),
		"few":     Analyze(diff.NewSet(series(t, steady[:2], nil), nil), o),
	}
}

// The golden files are in testdata; -update rewrites them.
func TestGolden(t *testing.T) {
	schema := schematest.Open(t, "rig.schema.json")
	for name, res := range scenarios(t) {
		schema.Formats(t, name, res.Formats(), 120, func(ext string) bool { return ext == "txt" || name == "drifting" }, *update) // one of each is enough to read
	}
}

// The document of the CSV names its columns, in their order, and every record.
func TestCSVDocument(t *testing.T) {
	var all []*sheet.Formats
	for _, res := range scenarios(t) {
		all = append(all, res.Formats())
	}
	schematest.CSV(t, "rig_csv.md", all)
}
