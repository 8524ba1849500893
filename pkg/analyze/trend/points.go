package trend

import (
	"cmp"
	"math"
	"slices"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/runset"
)

// A Point is one run, or several runs of a setting that were recorded together.
type Point struct {
	Label string // "v1.2"; without a label the name of the first run
	Runs  []*diff.Run
}

// Points makes points from groups of runs, such as the arguments of a command line. A group
// without a label has the label "".
//
// Groups with the same label become one point. Labeled points come first, in the order in
// which they were given. Runs without a label follow, in the order of their starts: the runs
// of one pa-record --repeat become one point, and each other run is a point of its own.
func Points(groups []Point) []Point {
	var labeled, others []Point
	series := map[string]int{}
	for _, g := range groups {
		if g.Label != "" {
			if i := slices.IndexFunc(labeled, func(p Point) bool { return p.Label == g.Label }); i >= 0 {
				labeled[i].Runs = append(labeled[i].Runs, g.Runs...)
			} else {
				labeled = append(labeled, Point{g.Label, slices.Clone(g.Runs)})
			}
			continue
		}
		for _, r := range g.Runs {
			id := ""
			if m := r.Header.Meta; m != nil && m.Repeat != nil {
				id = m.Repeat.Group
			}
			if i, known := series[id]; known && id != "" {
				others[i].Runs = append(others[i].Runs, r)
				continue
			}
			series[id] = len(others)
			others = append(others, Point{r.Name, []*diff.Run{r}})
		}
	}
	slices.SortStableFunc(others, func(a, b Point) int { return cmp.Compare(a.start(), b.start()) })
	return append(labeled, others...)
}

// start returns the start of the earliest run; 0 if the start of a run is unknown.
func (p *Point) start() uint64 {
	first := uint64(math.MaxUint64)
	for _, r := range p.Runs {
		ns, _ := r.Start()
		first = min(first, ns)
	}
	return first
}

// values returns the values of a metric in the runs of the point that have the level.
func (p *Point) values(l *runset.Level, m *diff.Metric) []float64 {
	var values []float64
	for _, r := range p.Runs {
		if x := l.Of(r); x != nil {
			if v := x.Statistic(m.Key); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
	}
	return values
}

// mean returns the geometric mean of values; the arithmetic mean if one is not above 0; NaN
// without values.
func mean(values []float64) float64 {
	if len(values) == 1 {
		return values[0]
	}
	summary := stats.GeometricMean
	if slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) }) {
		summary = stats.Mean
	}
	m, _ := summary(values) // NaN without values
	return m
}
