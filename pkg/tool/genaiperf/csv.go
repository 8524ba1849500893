package genaiperf

import (
	"io"

	"github.com/pa-tools/pa/internal/py"
)

// CSVName returns the name of the file into which the release writes its CSV
// report, beside an export of that name without its suffix.
func (r *Report) CSVName(stem string) string {
	if name := r.Release.rules.csvName; name != "" {
		return name
	}
	return stem + "_genai_perf.csv"
}

// CSV writes the CSV report.
func (r *Report) CSV(w io.Writer) error {
	k := &r.Release.rules
	c := py.NewCSVWriter(w)
	stats := k.csvStats()
	head := "Metric"
	if k.layout == layout2403 {
		head = "Statistic"
	}
	c.Row(append([]string{head}, stats...)...)
	for _, name := range r.rows(stats) {
		row := []string{r.csvLabel(name)}
		for _, s := range stats {
			row = append(row, r.cell(name, s, false))
		}
		c.Row(row...)
	}
	if k.layout > layout2403 {
		c.Row()
		c.Row("Metric", "Value")
	}
	for _, name := range r.rates() {
		c.Row(r.csvLabel(name), r.rate(name, false))
	}
	return c.Err()
}

// csvLabel returns the name of a row.
func (r *Report) csvLabel(name string) string {
	k := &r.Release.rules
	if k.layout > layout2403 {
		return k.label(name, true)
	}
	if unit := k.consoleUnit(name); unit != "" {
		return name + "(" + unit + ")"
	}
	return name
}
