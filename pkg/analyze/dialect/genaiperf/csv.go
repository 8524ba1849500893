package genaiperf

import (
	"io"

	"github.com/pa-tools/pa/internal/pycsv"
	"github.com/pa-tools/pa/internal/pyfmt"
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
	c := pycsv.NewWriter(w)
	stats := k.csvStats()
	head := "Metric"
	if k.layout == layout2403 {
		head = "Statistic"
	}
	c.Row(append([]string{head}, stats...)...)
	if k.layout < layout2407 {
		for _, name := range k.rows {
			if r.hidden(name, stats...) {
				continue
			}
			row := []string{r.csvLabel(name)}
			for _, s := range stats {
				row = append(row, pyfmt.Fixed(r.value(name, s), 0))
			}
			c.Row(row...)
		}
	} else {
		for _, name := range r.rows() {
			row := []string{r.csvLabel(name)}
			for _, s := range stats {
				row = append(row, r.cell(name, s))
			}
			c.Row(row...)
		}
	}
	if k.layout > layout2403 {
		c.Row()
		c.Row("Metric", "Value")
	}
	for _, name := range r.rates() {
		c.Row(r.csvLabel(name), r.csvRate(name))
	}
	return c.Err()
}

// csvRate returns the value of a metric of the whole level.
func (r *Report) csvRate(name string) string {
	switch k := &r.Release.rules; {
	case k.layout < layout2407:
		return pyfmt.Fixed(r.value(name, "avg"), 2)
	case k.layout < layout2501 && r.Metric(name) != nil:
		return pyfmt.Fixed(r.Metric(name).Avg, 2)
	}
	return r.cell(name, "avg")
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
