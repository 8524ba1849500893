package runset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A Difference is a setting that differs between runs, or a reason to doubt some of the runs.
type Difference struct {
	Name string // as in [diff.Difference]
	// Level is the name of the load level; "" for all levels.
	Level  string
	Values []Value
	// Refuses is set if the numbers of the runs have different meanings.
	Refuses bool
	// Ignored is set if the caller ignores the difference.
	Ignored bool
}

// A Value is one of the values of a difference, and the runs that have it.
type Value struct {
	Text string
	Runs []string // their names
}

// noDoubt is the text of a run that package diff finds no reason to doubt.
const noDoubt = "no"

// differences fills Differences: it compares the first run of each level with every other
// run of the level, and each pair of runs once.
func (s *Set) differences(ignore []string) {
	type pair struct{ first, other *diff.Run }
	seen := map[pair]bool{}
	at := differenceIndex{}
	for i := range s.Levels {
		runs := s.Levels[i].Runs
		for _, r := range runs[1:] {
			p := pair{runs[0], r}
			if seen[p] {
				continue
			}
			seen[p] = true
			for _, d := range diff.CompareSettings([]*diff.Run{p.first}, []*diff.Run{p.other}, diff.Options{Ignore: ignore}).Differences {
				s.add(at, d, p.first.Name, p.other.Name)
			}
		}
	}
	s.addAgreeing()
}

// addAgreeing adds the runs that agree with the first run of a level to the first run's value.
// Values that are compared with a tolerance, such as durations, may differ from it a little.
func (s *Set) addAgreeing() {
	doubts := diff.Doubts()
	named := map[string][]*Level{}
	every := make([]*Level, len(s.Levels))
	for i := range s.Levels {
		l := &s.Levels[i]
		named[l.Name], every[i] = append(named[l.Name], l), l
	}
	for i := range s.Differences {
		d := &s.Differences[i]
		if slices.Contains(doubts, d.Name) {
			continue
		}
		has := func(run string) int {
			return slices.IndexFunc(d.Values, func(v Value) bool { return slices.Contains(v.Runs, run) })
		}
		levels := every
		if d.Level != "" {
			levels = named[d.Level]
		}
		for _, l := range levels {
			first := has(l.Runs[0].Name)
			if first < 0 {
				continue
			}
			for _, r := range l.Runs[1:] {
				if has(r.Name) < 0 {
					d.Values[first].Runs = append(d.Values[first].Runs, r.Name)
				}
			}
		}
	}
}

// requireOneLabel adds a difference that refuses the runs if they have several labels.
func (s *Set) requireOneLabel(ignore []string) {
	d := Difference{Name: diff.LabelDifference, Refuses: true, Ignored: slices.Contains(ignore, diff.LabelDifference) || slices.Contains(ignore, diff.All)}
	for _, r := range s.Runs {
		if label := r.Label(); label != "" {
			d.put(label, r.Name)
		}
	}
	if len(d.Values) > 1 {
		s.Differences = slices.Insert(s.Differences, 0, d)
	}
}

// A differenceIndex holds the indices of Differences by name and level.
type differenceIndex map[[2]string]int

// add adds a difference between two runs.
func (s *Set) add(at differenceIndex, d diff.Difference, first, other string) {
	i, ok := at[[2]string{d.Name, d.Level}]
	if !ok {
		i = len(s.Differences)
		at[[2]string{d.Name, d.Level}] = i
		s.Differences = append(s.Differences, Difference{Name: d.Name, Level: d.Level, Refuses: d.Refuses, Ignored: d.Ignored})
	}
	x := &s.Differences[i]
	x.put(d.Old, first)
	x.put(d.New, other)
}

// put adds a run to the value with this text.
func (d *Difference) put(text, run string) {
	if text == noDoubt {
		return
	}
	if text == "" {
		text = "not recorded"
	}
	i := slices.IndexFunc(d.Values, func(v Value) bool { return v.Text == text })
	if i < 0 {
		i = len(d.Values)
		d.Values = append(d.Values, Value{Text: text})
	}
	if !slices.Contains(d.Values[i].Runs, run) {
		d.Values[i].Runs = append(d.Values[i].Runs, run)
	}
}

// Refused returns the differences that refuse the runs.
func (s *Set) Refused() []Difference {
	var all []Difference
	for _, d := range s.Differences {
		if d.Refuses && !d.Ignored {
			all = append(all, d)
		}
	}
	return all
}

// Incomparable returns an error that names the differences that refuse the runs; nil if
// there are none.
func (s *Set) Incomparable() error {
	var errs []error
	for _, d := range s.Refused() {
		at := ""
		if d.Level != "" {
			at = " at " + d.Level
		}
		var values []string
		for _, v := range d.Values {
			values = append(values, v.Text+" in "+shortList(v.Runs))
		}
		errs = append(errs, errors.New(sanitize.Text(fmt.Sprintf("not comparable: %s%s: %s; use --ignore %s to analyze them together anyway", d.Name, at, strings.Join(values, ", "), d.Name))))
	}
	return errors.Join(errs...)
}

// shortList returns the names of the runs; for more than two, the first name and the number of
// the others.
func shortList(runs []string) string {
	if len(runs) > 2 {
		return fmt.Sprintf("%s and %d more", runs[0], len(runs)-1)
	}
	return strings.Join(runs, " and ")
}

// Effect returns the effect of the difference for a reader, as [diff.Difference.Effect] does.
func (d *Difference) Effect() string {
	between := diff.Difference{Refuses: d.Refuses, Ignored: d.Ignored}
	return between.Effect()
}

// DifferenceTable returns the table of the differences. It is empty without differences.
func (s *Set) DifferenceTable() sheet.Table {
	if len(s.Differences) == 0 {
		return sheet.Table{}
	}
	rows := [][]string{{"differs", "at", "value", "in", ""}}
	for i := range s.Differences {
		d := &s.Differences[i]
		name, at, effect := d.Name, d.Level, d.Effect()
		for _, v := range d.Values {
			rows = append(rows, []string{name, at, diff.Short(v.Text), shortList(v.Runs), effect})
			name, at, effect = "", "", ""
		}
	}
	return sheet.AllLeft(rows)
}
