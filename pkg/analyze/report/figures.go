package report

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/summary"
)

// A Figure is a number of a report.
type Figure struct {
	// Name and Unit are as in a line of CSV. Statistic is the column, "mean" or "p99"; "" for a number that is no statistic of several
	// values.
	Name, Unit, Statistic string
	Text                  string // the number with all its digits; "" for a figure without a value
	Model                 string // the model that the figure is about, where requests went to several; "" for all
}

// Figures returns the numbers of a level, in the order of [CSV]. Windows are not among them.
func Figures(e *analyze.Experiment) []Figure {
	var all []Figure
	add := func(lines []csvLine, model string) {
		for i := range lines {
			for _, f := range lines[i].figures() {
				f.Model = model
				all = append(all, f)
			}
		}
	}
	add(csvLevel(e), "")
	for i := range e.Models {
		m := &e.Models[i]
		add(csvPart(m.Metrics, m.OK, m.Failed, &m.Throughput), m.Model)
	}
	return all
}

// figures returns the cells of a line with a value; one figure without a value for a line that has none.
func (l *csvLine) figures() (all []Figure) {
	add := func(statistic, text string) {
		if text != "" {
			all = append(all, Figure{Name: l.name, Unit: l.unit, Statistic: statistic, Text: text})
		}
	}
	if l.pct == nil && l.min == "" && l.max == "" { // one number, in the column "mean" or else "n"
		switch {
		case l.mean != "":
			add("", l.mean)
			add("n", l.n)
		case l.n != "":
			add("", l.n)
		}
	} else {
		add("n", l.n)
		add("mean", l.mean)
		add("std", l.std)
		add("min", l.min)
		for i, text := range l.pct {
			add(PercentileName(summary.Levels[i]), text)
		}
		add("max", l.max)
	}
	if all == nil {
		all = append(all, Figure{Name: l.name, Unit: l.unit})
	}
	return all
}
