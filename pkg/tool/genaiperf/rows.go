package genaiperf

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// consoleStats lists the columns of the table on the console.
var consoleStats = []string{"avg", "min", "max", "p99", "p90", "p75"}

// csvStats returns the columns of the CSV report.
func (r *rules) csvStats() []string {
	all := []string{"avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25"}
	if r.lowPercentiles {
		all = append(all, "p10", "p5", "p1")
	}
	return all
}

// rows returns the metrics of requests that a table of the statistics shows. From 24.07
// on, the choice does not depend on the values.
func (r *report) rows(stats []string) []string {
	k := &r.release.rules
	switch r.parser {
	case parseLatency:
		return []string{requestLatency}
	case parseImages:
		return []string{requestLatency, imageRate, imageLatency}
	}
	var rows []string
	for _, name := range k.rows {
		inTime := slices.Contains([]string{firstToken, secondToken, interToken, tokensPerUser}, name)
		if k.layout < layout2407 && !r.hidden(name, stats) || k.layout >= layout2407 && (r.Streaming || !inTime) {
			rows = append(rows, name)
		}
	}
	return rows
}

// hidden reports whether a release before 24.07 omits a row. Such releases do not know
// about streaming: they omit gaps without values, and a time to first token that equals
// the latency in all statistics.
func (r *report) hidden(name string, stats []string) bool {
	if name != interToken && name != firstToken || name == interToken && r.uncounted {
		return false
	}
	return !slices.ContainsFunc(stats, func(s string) bool {
		if name == interToken {
			return py.Fixed(r.value(name, s), 0) != "-1"
		}
		return r.value(name, s) != r.value(requestLatency, s)
	})
}

// rates returns the metrics of the whole level that are shown.
func (r *report) rates() []string {
	var all []string
	if r.parser == parseText {
		all = append(all, tokenRate)
	}
	all = append(all, requestRate)
	if r.goodput {
		all = append(all, requestGood)
	}
	if r.release.rules.requestCount {
		all = append(all, requestCount)
	}
	return all
}

// value returns a statistic; -1 for a metric without values.
func (r *report) value(metric, stat string) float64 {
	if m := r.Metric(metric); m != nil {
		return m.Stat(stat)
	}
	return -1
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

// cell returns a statistic of a metric of requests as it is printed: on the
// console always with commas.
func (r *report) cell(metric, stat string, console bool) string {
	k := &r.release.rules
	m := r.Metric(metric)
	switch {
	case m == nil && (r.noTexts != "" || r.uncounted && needsTokens(metric)):
		return "N/A"
	case k.layout < layout2407 && console:
		return py.Grouped(r.value(metric, stat), 0)
	case k.layout < layout2407:
		return py.Fixed(r.value(metric, stat), 0)
	case m == nil, k.missing == missingOrZeroNA && m.Stat(stat) == 0:
		return "N/A"
	}
	return py.Grouped(m.Stat(stat), 2)
}

// rate returns a metric of the whole level as it is printed: with commas on the
// console when it is in the table, and in the CSV report from 25.01 on.
func (r *report) rate(metric string, console bool) string {
	k := &r.release.rules
	m := r.Metric(metric)
	switch {
	case m == nil && (r.noTexts != "" || r.noRate != "" || r.uncounted):
		return "N/A"
	case k.layout < layout2407:
		return py.Fixed(r.value(metric, "avg"), 2)
	case m == nil:
		return "N/A"
	case k.layout < layout2409, k.layout < layout2501 && !console:
		return py.Fixed(m.Avg, 2)
	}
	return py.Grouped(m.Avg, 2)
}
