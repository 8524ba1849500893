package runset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

// A Set is several runs that are analyzed together.
type Set struct {
	// Runs are in the order of their starts. Runs without a start keep the order in which
	// they were given, before the others.
	Runs   []*diff.Run
	Levels []Level
	// Differences are the settings that differ between runs, and reasons to doubt runs.
	Differences []Difference
	// Warnings name the levels that some runs lack.
	Warnings []string
}

// A Level is one load level of the runs that have it.
type Level struct {
	Name  string // "concurrency 8"
	Mode  string
	Value string
	// Runs are the runs that have the level. Levels has the level of each of them.
	Runs   []*diff.Run
	Levels []*diff.Level
}

// New groups runs by load level and compares their settings. ignore names the differences
// that must not refuse the runs, see [diff.Refusals].
func New(runs []*diff.Run, ignore []string) *Set {
	s := &Set{Runs: slices.Clone(runs)}
	slices.SortStableFunc(s.Runs, func(a, b *diff.Run) int { return cmp.Compare(start(a), start(b)) })
	s.group()
	s.differences(ignore)
	for i := range s.Levels {
		if l := &s.Levels[i]; len(l.Runs) < len(s.Runs) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: only %d of %d runs have this level", l.Name, len(l.Runs), len(s.Runs)))
		}
	}
	return s
}

// OneServer groups and compares runs as [New] does. It also refuses runs with several labels,
// which pa-record gives to the servers that it records in turn. Runs without a label count as
// runs of the same server.
func OneServer(runs []*diff.Run, ignore []string) *Set {
	s := New(runs, ignore)
	s.requireOneLabel(ignore)
	return s
}

// Named counts and names the runs: "2 runs (a.json, b.json)".
func (s *Set) Named() string {
	var names []string
	for _, r := range s.Runs {
		names = append(names, r.Name)
	}
	return fmt.Sprintf("%s (%s)", plural.Of(len(names), "run"), strings.Join(names, ", "))
}

// start returns the start of a run, 0 if it is unknown.
func start(r *diff.Run) uint64 {
	ns, _ := r.Start()
	return ns
}

// group fills Levels in the order in which they first occur, see [diff.Groups].
func (s *Set) group() {
	groups := diff.Groups(s.Runs)
	s.Levels = make([]Level, len(groups))
	for i, g := range groups {
		l := g.Levels[0]
		s.Levels[i] = Level{Name: l.Name(), Mode: l.Mode, Value: l.Value, Runs: g.Runs, Levels: g.Levels}
	}
}

// Values returns the value of a metric in each of Runs; NaN for a run without the metric.
func (l *Level) Values(m *diff.Metric) []float64 {
	values := make([]float64, len(l.Levels))
	for i, x := range l.Levels {
		values[i] = x.Statistic(m.Key)
	}
	return values
}

// Of returns the level in a run; nil if the run lacks it.
func (l *Level) Of(r *diff.Run) *diff.Level {
	if i := slices.Index(l.Runs, r); i >= 0 {
		return l.Levels[i]
	}
	return nil
}

// Units chooses the time units that suit all values of the set.
func (s *Set) Units() diff.Units {
	return diff.NewUnits(func(m *diff.Metric) (values []float64) {
		for i := range s.Levels {
			values = append(values, s.Levels[i].Values(m)...)
		}
		return values
	})
}
