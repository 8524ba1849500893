package aiperf

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// isSingle reports whether a metric is one number for the whole run.
func (m *metric) isSingle() bool {
	return math.IsNaN(m.Min)
}

// CSV writes profile_export_aiperf.csv: distributions first, then single numbers, both in
// the order of their tags.
func (r *report) CSV(w io.Writer) error {
	all := slices.Clone(r.Metrics)
	slices.SortFunc(all, func(a, b metric) int { return cmp.Compare(a.Tag, b.Tag) })
	c := py.NewCSVWriter(w)
	c.Row(append([]string{"Metric"}, r.release.csvStats...)...)
	for i := range all {
		m := &all[i]
		if m.isSingle() {
			continue
		}
		row := []string{r.release.column(m.Tag).csvLabel()}
		for _, s := range r.release.csvStats {
			row = append(row, csvCell(m.Stat(s)))
		}
		c.Row(row...)
	}
	c.Row()
	c.Row("Metric", "Value")
	for i := range all {
		if m := &all[i]; m.isSingle() {
			c.Row(r.release.column(m.Tag).csvLabel(), csvCell(m.Avg))
		}
	}
	return c.Err()
}

// CSVName returns the name of the file into which AIPerf writes its CSV report.
func (r *report) CSVName(string) string { return "profile_export_aiperf.csv" }

// csvLabel returns the name of a row with its unit; requests and counts have none.
func (c *column) csvLabel() string {
	if c.unit == "requests" || c.unit == "count" {
		return c.header
	}
	return c.header + " (" + c.unit + ")"
}

func csvCell(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return py.Fixed(v, 2)
}

// outcome says how the run ended, with the errors in the order of their first occurrence.
func (r *report) outcome() py.Object {
	o := py.Object{{Name: "was_cancelled", Value: r.cancelled}, {Name: "is_complete", Value: !r.cancelled}}
	if r.cancelled {
		o = append(o, py.Member{Name: "incomplete_reason", Value: r.release.incomplete})
	}
	var all py.Array
	for i := range r.Errors {
		e := &r.Errors[i]
		var details py.Object
		if e.Code != 0 {
			details = append(details, py.Member{Name: "code", Value: e.Code})
		}
		details = append(details, py.Member{Name: "type", Value: e.Type}, py.Member{Name: "message", Value: e.Message})
		if e.Cause != "" {
			details = append(details, py.Member{Name: "cause", Value: e.Cause})
		}
		if len(e.Chain) > 0 {
			details = append(details, py.Member{Name: "cause_chain", Value: e.Chain})
		}
		all = append(all, py.Object{{Name: "error_details", Value: details}, {Name: "count", Value: e.Count}})
	}
	o = append(o, py.Member{Name: "error_summary", Value: all})
	for _, at := range []struct {
		name string
		ns   uint64
	}{{"start_time", r.startNS}, {"end_time", r.endNS}} {
		if at.ns > 0 {
			o = append(o, py.Member{Name: at.name, Value: time.Unix(0, int64(at.ns)).UTC().Round(time.Microsecond).Format("2006-01-02T15:04:05.000000")}) //nolint:gosec // a time of this century
		}
	}
	return o
}

// JSON writes profile_export_aiperf.json: its statistics, and how the run ended.
func (r *report) JSON(w io.Writer) error {
	o := py.Object{{Name: "schema_version", Value: r.release.schema}, {Name: "aiperf_version", Value: r.release.version}}
	for _, tag := range r.release.jsonFirst {
		if m := r.Metric(tag); m != nil {
			o = append(o, m.member(r.release.column(m.Tag).unit))
		}
	}
	o = append(o, r.outcome()...)
	for i := range r.Metrics {
		if m := &r.Metrics[i]; !slices.Contains(r.release.jsonFirst, m.Tag) {
			o = append(o, m.member(r.release.column(m.Tag).unit))
		}
	}
	_, err := w.Write(sanitize.JSON(py.AppendJSONUnicode(nil, o, 2)))
	return err
}

// member returns the metric as a member of the JSON report.
func (m *metric) member(unit string) py.Member {
	one := py.Object{{Name: "unit", Value: unit}}
	add := func(name string, v float64) {
		if !math.IsNaN(v) {
			one = append(one, py.Member{Name: name, Value: v})
		}
	}
	add("avg", m.Avg)
	for i, pct := range dialect.Percentiles {
		add("p"+strconv.Itoa(pct), m.Pct[i])
	}
	add("min", m.Min)
	add("max", m.Max)
	add("std", m.Std)
	if m.Count > 0 {
		one = append(one, py.Member{Name: "count", Value: m.Count})
		add("sum", m.Sum)
	}
	return py.Member{Name: m.Tag, Value: one}
}
