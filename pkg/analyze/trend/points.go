package trend

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

// A Point is one run, or several runs of a setting that were recorded together.
type Point struct {
	Label string // "v1.2"; without a label the name of the first run
	Runs  []*diff.Run
	// Noise says why a person accepted the point although it is worse; "" if it was not worse.
	Noise string
}

// Points makes points from groups of runs, such as the arguments of a command line. A group
// without a label has the label "".
//
// Groups with the same label become one point. Labeled points come first, in the order in
// which they were given. Runs without a label follow, in the order of their starts: the runs
// of one server in one pa-record --repeat become one point, and every other run is a point of
// its own.
func Points(groups []Point) []Point {
	var labeled, others []Point
	series := map[seriesID]int{}
	for _, g := range groups {
		if g.Label != "" {
			if i := slices.IndexFunc(labeled, func(p Point) bool { return p.Label == g.Label }); i >= 0 {
				labeled[i].Runs = append(labeled[i].Runs, g.Runs...)
			} else {
				labeled = append(labeled, Point{Label: g.Label, Runs: slices.Clone(g.Runs)})
			}
			continue
		}
		for _, r := range g.Runs {
			var id seriesID
			if m := r.Header.Meta; m != nil && m.Repeat != nil {
				id = seriesID{m.Repeat.Group, m.Repeat.Label}
			}
			if i, known := series[id]; known && id.group != "" {
				others[i].Runs = append(others[i].Runs, r)
				continue
			}
			series[id] = len(others)
			others = append(others, Point{Label: r.Name, Runs: []*diff.Run{r}})
		}
	}
	slices.SortStableFunc(others, func(a, b Point) int { return cmp.Compare(a.start(), b.start()) })
	return append(labeled, others...)
}

// A seriesID identifies the runs of one server in one pa-record --repeat.
type seriesID struct{ group, label string }

// start returns the start of the earliest run; 0 if the start of a run is unknown.
func (p *Point) start() uint64 {
	first := uint64(math.MaxUint64)
	for _, r := range p.Runs {
		ns, _ := r.Start()
		first = min(first, ns)
	}
	return first
}

// levels returns the level in the runs of the point that have it.
func (p *Point) levels(l *diff.Group) []*diff.RunLevel {
	var levels []*diff.RunLevel
	for _, r := range p.Runs {
		if x := l.Of(r); x != nil {
			levels = append(levels, x)
		}
	}
	return levels
}

// levelsOf returns the level in all runs of points that have it.
func levelsOf(points []Point, l *diff.Group) (all []*diff.RunLevel) {
	for i := range points {
		all = append(all, points[i].levels(l)...)
	}
	return all
}

// values returns the values of a metric in the runs of the point that have it at the level.
func (p *Point) values(l *diff.Group, m *diff.Metric) []float64 {
	var values []float64
	for _, x := range p.levelsWith(l, m) {
		values = append(values, x.Statistic(m.Key))
	}
	return values
}

// levelsWith returns the level in the runs of the point that have a metric at the level.
func (p *Point) levelsWith(l *diff.Group, m *diff.Metric) []*diff.RunLevel {
	return slices.DeleteFunc(p.levels(l), func(x *diff.RunLevel) bool { return math.IsNaN(x.Statistic(m.Key)) })
}

// spoiled returns why a warning of the recorder in a run of the point allows no verdict on a
// metric; "" if none does.
func (p *Point) spoiled(l *diff.Group, m *diff.Metric) string {
	for _, x := range p.levels(l) {
		if why := x.Spoils(m); why != "" {
			return why + " in " + sanitize.Text(x.Run.Name)
		}
	}
	return ""
}

// unfit returns an error that says why the point cannot be accepted: its runs are not comparable, a
// run has no successful request at a level, or a warning of the recorder allows no verdict on a
// primary metric. It is nil if the point can be accepted.
func (p *Point) unfit(ignore []string) error {
	set := diff.NewSet(p.Runs, ignore)
	errs := []error{set.Incomparable()}
	for _, l := range set.Levels {
		for _, x := range l.Levels {
			if x.OK == 0 {
				errs = append(errs, fmt.Errorf("%s: no request succeeded at %s", sanitize.Text(x.Run.Name), sanitize.Text(l.Name)))
			}
		}
		for _, m := range diff.Metrics {
			if m.Primary {
				if why := p.spoiled(l, m); why != "" {
					errs = append(errs, fmt.Errorf("%s at %s cannot be judged: %s", m.Name, sanitize.Text(l.Name), why))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// outlying returns a text for each level at which runs of the point differ from its other runs in
// primary metrics, with the metric that differs most: "run.1.json has 82 times the TTFT p50 of the
// other runs at concurrency 1".
func (p *Point) outlying(ignore []string) []string {
	set := diff.NewSet(p.Runs, ignore)
	var texts []string
	for _, l := range set.Levels {
		worst, text := 0.0, ""
		for _, m := range diff.Metrics {
			if !m.Primary || m.Key == diff.KeyFailedShare {
				continue
			}
			outlying := p.outlyingRuns(l, m)
			for _, o := range outlying {
				if far := math.Abs(math.Log(o.Factor)); far > worst {
					worst, text = far, outlyingText(m, outlying)
				}
			}
		}
		if text != "" {
			texts = append(texts, text+" at "+sanitize.Text(l.Name))
		}
	}
	return texts
}
