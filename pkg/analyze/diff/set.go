package diff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A Set is several runs that are analyzed together, grouped by load level, and what differs in how they
// were made. Packages rig and trend build on it:
//
//	set := diff.NewSet(runs, nil)
//	if err := set.Incomparable(); err != nil {
//		return err
//	}
//	for _, l := range set.Levels {
//		fmt.Println(l.Name, l.Values(diff.Metrics[0]))
//	}
type Set struct {
	// Runs are in the order of their starts. Runs without a start keep the order in which
	// they were given, before the others.
	Runs   []*Run
	Levels []*Group
	// Differences are the settings that differ between runs, and reasons to doubt runs.
	Differences []*SetDifference
	// Warnings name the levels that some runs lack.
	Warnings []string
}

// NewSet groups runs by load level and compares their settings. ignore names the differences
// that must not refuse the runs, see [Refusals].
func NewSet(runs []*Run, ignore []string) *Set {
	s := &Set{Runs: slices.Clone(runs)}
	slices.SortStableFunc(s.Runs, func(a, b *Run) int { return cmp.Compare(start(a), start(b)) })
	s.Levels = groups(s.Runs, levelpair.Load)
	s.differences(ignore)
	for _, l := range s.Levels {
		if len(l.Levels) < len(s.Runs) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: only %d of %d runs %s this level", l.Name, len(l.Levels), len(s.Runs), plural.Form(len(l.Levels), "has", "have")))
		}
	}
	return s
}

// OneServer groups and compares runs as [NewSet] does. It also refuses runs with several labels,
// which pa-record gives to the servers that it records in turn. Runs without a label count as
// runs of the same server.
func OneServer(runs []*Run, ignore []string) *Set {
	s := NewSet(runs, ignore)
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
func start(r *Run) uint64 {
	ns, _ := r.Start()
	return ns
}

// A Group is one load level in each of the runs that have it.
type Group struct {
	Name        string // "concurrency 8"
	Mode, Value string
	Levels      []*RunLevel

	load nthLoad
}

// An nthLoad is a load, and the number of levels of the same load that the run has before this level.
type nthLoad struct {
	load string
	nth  int
}

// groups groups the levels of several runs, in the order in which they first occur. It leaves out
// levels that have a Problem. A load that a run has twice is two groups.
func groups(runs []*Run, by levelpair.By) []*Group {
	var all []*Group
	at := map[nthLoad]*Group{}
	for _, r := range runs {
		before := map[string]int{}
		for i := range r.Levels {
			l := &r.Levels[i]
			k := nthLoad{load: by.Key(l.Mode, l.load())}
			k.nth = before[k.load]
			if l.Problem == nil || by != levelpair.Load { // by order or kind, a level without figures keeps its place
				before[k.load]++
			}
			if l.Problem != nil {
				continue
			}
			g := at[k]
			if g == nil {
				g = &Group{Name: l.Name(), Mode: l.Mode, Value: l.Value, load: k}
				at[k], all = g, append(all, g)
			} else if !g.has(l.Name()) && by != levelpair.Load {
				g.Name += ", " + l.Name()
			}
			g.Levels = append(g.Levels, l)
		}
	}
	return all
}

// has reports whether a level of the group has the name.
func (l *Group) has(name string) bool {
	return slices.ContainsFunc(l.Levels, func(x *RunLevel) bool { return x.Name() == name })
}

// Values returns the value of a metric in each of Levels; NaN for a level without the metric.
func (l *Group) Values(m *Metric) []float64 {
	values := make([]float64, len(l.Levels))
	for i, x := range l.Levels {
		values[i] = x.Statistic(m.Key)
	}
	return values
}

// runsOf returns the run of each level.
func runsOf(levels ...[]*RunLevel) (runs []*Run) {
	for _, l := range slices.Concat(levels...) {
		runs = append(runs, l.Run)
	}
	return runs
}

// Of returns the level in a run; nil if the run lacks it.
func (l *Group) Of(r *Run) *RunLevel {
	if i := slices.IndexFunc(l.Levels, func(x *RunLevel) bool { return x.Run == r }); i >= 0 {
		return l.Levels[i]
	}
	return nil
}

// Units chooses the time units that suit all values of the set.
func (s *Set) Units() Units {
	return newUnits(func(add func(*Metric, ...float64)) {
		for _, l := range s.Levels {
			for _, m := range Metrics {
				add(m, l.Values(m)...)
			}
		}
	})
}

// A SetDifference is a difference between the runs of a set, with the runs that have each value.
type SetDifference struct {
	Cause
	Values []SetValue
}

// A SetValue is one of the values of a difference, and the runs that have it.
type SetValue struct {
	Text string
	Runs []string // their names
}

// differences fills Differences: it compares the first run of each level with every other
// run of the level, and each pair of runs once.
func (s *Set) differences(ignore []string) {
	type pair struct{ first, other *Run }
	seen := map[pair]bool{}
	at := differenceIndex{}
	for _, l := range s.Levels {
		runs := runsOf(l.Levels)
		for _, r := range runs[1:] {
			p := pair{runs[0], r}
			if seen[p] {
				continue
			}
			seen[p] = true
			for _, d := range compareSettings([]*Run{p.first}, []*Run{p.other}, Options{Ignore: ignore}).Differences {
				s.add(at, d, p.first.Name, p.other.Name)
			}
		}
	}
	s.addAgreeing()
}

// addAgreeing adds the runs that agree with the first run of a level to the first run's value.
// Values that are compared with a tolerance, such as durations, may differ from it a little.
func (s *Set) addAgreeing() {
	inDoubt := doubtNames()
	named := map[string][]*Group{}
	for _, l := range s.Levels {
		named[l.Name] = append(named[l.Name], l)
	}
	for _, d := range s.Differences {
		if slices.Contains(inDoubt, d.Name) {
			continue
		}
		has := func(run string) int {
			return slices.IndexFunc(d.Values, func(v SetValue) bool { return slices.Contains(v.Runs, run) })
		}
		levels := s.Levels
		if d.Level != "" {
			levels = named[d.Level]
		}
		for _, l := range levels {
			first := has(l.Levels[0].Run.Name)
			if first < 0 {
				continue
			}
			for _, x := range l.Levels[1:] {
				if name := x.Run.Name; has(name) < 0 {
					d.Values[first].Runs = append(d.Values[first].Runs, name)
				}
			}
		}
	}
}

// requireOneLabel adds a difference that refuses the runs if they have several labels.
func (s *Set) requireOneLabel(ignore []string) {
	d := &SetDifference{Cause: Cause{Name: labelDifference, Refuses: true, Ignored: slices.Contains(ignore, labelDifference) || slices.Contains(ignore, All)}}
	for _, r := range s.Runs {
		if label := r.label(); label != "" {
			d.put(label, r.Name)
		}
	}
	if len(d.Values) > 1 {
		s.Differences = slices.Insert(s.Differences, 0, d)
	}
}

// A differenceIndex holds Differences by name and level.
type differenceIndex map[[2]string]*SetDifference

// add adds a difference between two runs.
func (s *Set) add(at differenceIndex, d *Difference, first, other string) {
	k := [2]string{d.Name, d.Level}
	x := at[k]
	if x == nil {
		x = &SetDifference{Cause: d.Cause}
		at[k], s.Differences = x, append(s.Differences, x)
	}
	x.put(d.Old, first)
	x.put(d.New, other)
}

// put adds a run to the value with this text.
func (d *SetDifference) put(text, run string) {
	if text == noDoubt {
		return
	}
	if text == "" {
		text = unknown
	}
	i := slices.IndexFunc(d.Values, func(v SetValue) bool { return v.Text == text })
	if i < 0 {
		i = len(d.Values)
		d.Values = append(d.Values, SetValue{Text: text})
	}
	if !slices.Contains(d.Values[i].Runs, run) {
		d.Values[i].Runs = append(d.Values[i].Runs, run)
	}
}

// Refused returns the differences that refuse the runs.
func (s *Set) Refused() []*SetDifference { return refused(s.Differences) }

// RefusedNames returns the names of the differences that refuse the runs, each once.
func (s *Set) RefusedNames() []string { return namesOf(s.Refused()) }

// Incomparable returns an error that names the differences that refuse the runs; nil if
// there are none.
func (s *Set) Incomparable() error {
	var errs []error
	for _, d := range s.Refused() {
		var values []string
		for _, v := range d.Values {
			values = append(values, v.Text+" in "+shortList(v.Runs))
		}
		errs = append(errs, errors.New(sanitize.Text(fmt.Sprintf("not comparable: %s%s: %s; use --ignore %s to analyze them together anyway", d.Name, d.at(), strings.Join(values, ", "), d.Name))))
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

// DifferenceTable returns the table of the differences. It is empty without differences.
func (s *Set) DifferenceTable() sheet.Table {
	if len(s.Differences) == 0 {
		return sheet.Table{}
	}
	rows := [][]string{{"differs", "at", "value", "in", ""}}
	for _, d := range s.Differences {
		name, at, effect := d.Name, d.Level, d.Effect()
		for _, v := range d.Values {
			rows = append(rows, []string{name, at, short(v.Text), shortList(v.Runs), effect})
			name, at, effect = "", "", ""
		}
	}
	return sheet.AllLeft(rows)
}

// JSONDifferences returns the differences for JSON.
func (s *Set) JSONDifferences() []sheet.Object {
	return sheet.ListOf(s.Differences, func(d *SetDifference) sheet.Object {
		values := sheet.List(d.Values, func(v *SetValue) sheet.Object { return sheet.Object{"text", v.Text, "files", v.Runs} })
		return sheet.Object{"name", d.Name, "level", sheet.Opt(d.Level), "values", values, "refuses", d.Refuses, "ignored", d.Ignored}
	})
}

// JSON returns the members of a level in JSON, with the files that have it.
func (l *Group) JSON() sheet.Object {
	var files []string
	for _, x := range l.Levels {
		files = append(files, x.Run.Name)
	}
	return sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value, "files", files}
}

// CSVDifferences returns a line for each value of each difference. The columns are record,
// level, name, value, reason (the effect of the difference) and file.
func (s *Set) CSVDifferences() []sheet.CSVRow {
	var rows []sheet.CSVRow
	for _, d := range s.Differences {
		for _, v := range d.Values {
			for _, run := range v.Runs {
				rows = append(rows, sheet.CSVRow{
					"record": "difference", "level": d.Level, "name": d.Name, "value": v.Text,
					"reason": d.Effect(), "file": run,
				})
			}
		}
	}
	return rows
}
