package genaiperf

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/pyfmt"
)

// consoleStats are the columns of the table on the console.
var consoleStats = []string{"avg", "min", "max", "p99", "p90", "p75"}

// csvStats returns the columns of the CSV report.
func (r *rules) csvStats() []string {
	all := []string{"avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25"}
	if r.lowPercentiles {
		all = append(all, "p10", "p5", "p1")
	}
	return all
}

// stat returns the statistic of that name: "avg", "p99".
func (m *Metric) stat(name string) float64 {
	switch name {
	case "avg":
		return m.Avg
	case "min":
		return m.Min
	case "max":
		return m.Max
	case "std":
		return m.Std
	}
	for i, pct := range percentileNames {
		if pct == name {
			return m.pct[i]
		}
	}
	panic("no statistic " + name)
}

var percentileNames = [len(percentiles)]string{"p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"}

// rows returns the metrics of requests that are shown on the console and in the
// CSV report, from 24.07 on whether they have values or not.
func (r *Report) rows() []string {
	k := &r.Release.rules
	switch {
	case slices.Contains(k.latencyOnly, r.EndpointType):
		return []string{requestLatency}
	case r.EndpointType == "image_retrieval" && k.images != imagesNot:
		return []string{requestLatency, imageRate, imageLatency}
	}
	var rows []string
	for _, name := range k.rows {
		switch {
		case k.layout < layout2407:
			if !r.hidden(name) {
				rows = append(rows, name)
			}
		case r.Streaming || !slices.Contains([]string{firstToken, secondToken, interToken, tokensPerUser}, name):
			rows = append(rows, name)
		}
	}
	return rows
}

// rates returns the metrics of the whole level that are shown.
func (r *Report) rates() []string {
	k := &r.Release.rules
	var all []string
	if k := r.rows(); slices.Contains(k, outputLength) || slices.Contains(k, numOutput) {
		all = append(all, tokenRate)
	}
	all = append(all, requestRate)
	if r.goodput {
		all = append(all, requestGood)
	}
	if k.requestCount {
		all = append(all, requestCount)
	}
	return all
}

// value returns a statistic, -1 of a metric without values.
func (r *Report) value(metric, stat string) float64 {
	if m := r.Metric(metric); m != nil {
		return m.stat(stat)
	}
	return -1
}

// hidden reports whether a release before 24.07 leaves out a row: gaps that are
// not there, and a time to first token that is the latency in everything shown.
// The console and the CSV report decide for themselves.
func (r *Report) hidden(name string, stats ...string) bool {
	if stats == nil {
		stats = consoleStats
	}
	for _, s := range stats {
		v := r.value(name, s)
		switch name {
		case interToken:
			if pyfmt.Fixed(v, 0) != "-1" {
				return false
			}
		case firstToken:
			if v != r.value(requestLatency, s) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// label returns the name of a metric as words, with its unit.
func (r *rules) label(name string, title bool) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if i == 0 || title {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	unit := r.consoleUnit(name)
	if unit == "" || unit == "tokens" && r.layout < layout2501 {
		return strings.Join(words, " ")
	}
	return strings.Join(words, " ") + " (" + unit + ")"
}

// consoleUnit returns the unit of a metric on the console and in the CSV report.
func (r *rules) consoleUnit(name string) string {
	switch {
	case name == tokenRate:
		return r.tokenRate
	case isTime(name) && r.layout < layout2407:
		return "ns"
	case name == numOutput || name == numInput:
		return ""
	}
	return units[name].console
}

// cell returns a statistic of a request metric as it is printed.
func (r *Report) cell(metric, stat string) string {
	k := &r.Release.rules
	m := r.Metric(metric)
	switch {
	case m == nil:
		return "N/A"
	case k.absent == absentOrZeroNA && !m.Single && m.stat(stat) == 0:
		return "N/A"
	}
	return pyfmt.Grouped(m.stat(stat), 2)
}
