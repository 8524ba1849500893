package diff

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// specials finds the level whose change is farthest from the others. Another level may have a smaller
// p-value, because its runs happen to deviate less.
func TestSpecials(t *testing.T) {
	m := Metrics[0]
	deviations := []float64{-0.03, 0.015, 0.03, -0.02, 0.005}
	values := func(from, noise float64) (runs []float64) {
		for i, d := range deviations {
			runs = append(runs, from*math.Exp(noise*d+0.001*float64(i%2)))
		}
		return runs
	}
	res := &Result{}
	for _, l := range []struct {
		name          string
		change, noise float64
	}{{"1", 0, 0.5}, {"2", 0, 0}, {"4", 0.1, 1}} {
		r := &Row{Metric: m, OldRuns: values(100, l.noise), NewRuns: values(100*(1+l.change), l.noise)}
		r.Comparison = inference.Runs(r.OldRuns, r.NewRuns)
		res.Levels = append(res.Levels, &LevelDiff{Name: l.name, Rows: []*Row{r}})
	}
	rows := []*Row{res.Levels[0].Rows[0], res.Levels[1].Rows[0], res.Levels[2].Rows[0]}
	if small, large := againstOthers(rows, 0).P, againstOthers(rows, 2).P; !(small < large) {
		t.Fatalf("p-values %v and %v: the wrong level is not the surest", small, large)
	}
	if got := res.specials(m, alpha); len(got) != 1 || got[0].level != "4" || !got[0].more {
		t.Errorf("%+v, want level 4 alone", got)
	}
}
