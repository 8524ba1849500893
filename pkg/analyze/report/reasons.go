package report

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
)

// Reasons collects figures that have no value, by reason, so that a report says each reason once. The zero
// value is empty.
type Reasons struct {
	whys  []string
	names [][]string // for each reason, the names of its figures
}

// Add adds the figure with a name, and why it has no value. It does not repeat a name.
func (r *Reasons) Add(name, why string) {
	i := slices.Index(r.whys, why)
	if i < 0 {
		i = len(r.whys)
		r.whys, r.names = append(r.whys, why), append(r.names, nil)
	}
	if !slices.Contains(r.names[i], name) {
		r.names[i] = append(r.names[i], name)
	}
}

// Each calls f for each reason, in the order in which the reasons were added, with the names of its
// figures: "queue, prefill". A reason may be a text from a server or a file, so f must sanitize it.
func (r *Reasons) Each(f func(names, why string)) {
	for i, why := range r.whys {
		f(strings.Join(r.names[i], ", "), why)
	}
}

// lines returns a line for each reason: "queue, prefill: n/a (why)".
func (r *Reasons) lines() (all []string) {
	r.Each(func(names, why string) { all = append(all, names+": n/a ("+plain(why)+")") })
	return all
}

// figureLines returns a line for each figure with a value, made by text, and then a line for each
// reason why other figures have none.
func figureLines(all []analyze.LevelFigure, text func(*analyze.LevelFigure) string) (lines []string) {
	var lacking Reasons
	for i := range all {
		f := &all[i]
		if f.Why != "" {
			lacking.Add(f.Label, f.Why)
			continue
		}
		lines = append(lines, f.Label+": "+text(f))
	}
	return append(lines, lacking.lines()...)
}

// groupLines returns the lines of [figureLines]. If no figure has a value and all have the same reason, it returns
// one line "NAME: n/a (why)" with the name of the group.
func groupLines(name string, all []analyze.LevelFigure, text func(*analyze.LevelFigure) string) []string {
	if why := commonReason(all); why != "" {
		return []string{name + ": n/a (" + plain(why) + ")"}
	}
	return figureLines(all, text)
}

// commonReason returns the reason why no figure has a value; "" if a figure has a value, or if the figures have
// several reasons.
func commonReason(all []analyze.LevelFigure) string {
	for i := range all {
		if all[i].Why != all[0].Why {
			return ""
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].Why
}
