package aiperf

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/pycsv"
	"github.com/pa-tools/pa/internal/pyfmt"
	"github.com/pa-tools/pa/internal/pyjson"
)

// isSingle reports whether a metric is one number for the whole run.
func (m *Metric) isSingle() bool {
	return math.IsNaN(m.Min)
}

// CSV writes profile_export_aiperf.csv: distributions and then numbers, by the
// names of their tags.
func (r *Report) CSV(w io.Writer) error {
	all := slices.Clone(r.Metrics)
	slices.SortFunc(all, func(a, b Metric) int { return cmp.Compare(a.Tag, b.Tag) })
	c := pycsv.NewWriter(w)
	c.Row("Metric", "avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std")
	for i := range all {
		m := &all[i]
		if m.isSingle() {
			continue
		}
		row := []string{describe(m.Tag).csvLabel()}
		for _, v := range append(append([]float64{m.Avg, m.Min, m.Max, m.Sum}, m.pct[:]...), m.Std) {
			row = append(row, csvCell(v))
		}
		c.Row(row...)
	}
	c.Row()
	c.Row("Metric", "Value")
	for i := range all {
		if m := &all[i]; m.isSingle() {
			c.Row(describe(m.Tag).csvLabel(), csvCell(m.Avg))
		}
	}
	return c.Err()
}

// CSVName is the name of the file into which AIPerf writes its CSV report.
func (r *Report) CSVName(string) string { return "profile_export_aiperf.csv" }

// csvLabel returns the name of a row: without a unit where it counts requests.
func (c *column) csvLabel() string {
	if c.unit == "requests" {
		return c.header
	}
	return c.header + " (" + c.unit + ")"
}

func csvCell(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return pyfmt.Fixed(v, 2)
}

// jsonFirst are the tags that come first in JSON. The order of the others
// changes from run to run of AIPerf; here it is that of the console.
var jsonFirst = []string{
	requestRate, requestLatency, requestCount, firstToken, secondToken, interToken, outputRate, perUser, outputLength,
	inputLength, "output_token_count", "inter_chunk_latency", "total_output_tokens", "benchmark_duration", "total_isl",
	"total_osl", "error_request_count",
}

// JSON writes profile_export_aiperf.json: its statistics.
func (r *Report) JSON(w io.Writer) error {
	o := pyjson.Object{{Name: "schema_version", Value: "1.4"}, {Name: "aiperf_version", Value: Version}}
	for _, tag := range jsonFirst {
		if m := r.Metric(tag); m != nil {
			o = append(o, m.member())
		}
	}
	for i := range r.Metrics {
		if m := &r.Metrics[i]; !slices.Contains(jsonFirst, m.Tag) {
			o = append(o, m.member())
		}
	}
	_, err := w.Write(pyjson.Append(nil, o, 2))
	return err
}

func (m *Metric) member() pyjson.Member {
	unit := describe(m.Tag).unit
	one := pyjson.Object{{Name: "unit", Value: unit}}
	add := func(name string, v float64) {
		if !math.IsNaN(v) {
			one = append(one, pyjson.Member{Name: name, Value: v})
		}
	}
	add("avg", m.Avg)
	for i, pct := range percentiles {
		add("p"+strconv.Itoa(pct), m.pct[i])
	}
	add("min", m.Min)
	add("max", m.Max)
	add("std", m.Std)
	if m.Count > 0 {
		one = append(one, pyjson.Member{Name: "count", Value: m.Count})
		add("sum", m.Sum)
	}
	return pyjson.Member{Name: m.Tag, Value: one}
}
