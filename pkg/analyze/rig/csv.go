package rig

import (
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// csvHeader is the header line; schemas/rig_csv.md describes the columns.
var csvHeader = []string{"record", "level", "name", "unit", "value", "low", "high", "p", "p_adjusted", "runs", "primary", "reason", "file"}

// CSV writes one header and a line for each difference, metric, number of runs a side and
// value of a run, in the columns of schemas/rig_csv.md. Floats have all their digits; a
// cell without a value is empty.
func CSV(res *Result) report.Renderer { return tabular.CSV(csvHeader, res.csvRows()) }

func (res *Result) csvRows() []tabular.CSVRow {
	rows := []tabular.CSVRow{{"record": "measured", "value": res.Set.Runs[0].Measured()}}
	rows = append(rows, res.Set.CSVDifferences()...)
	for i := range res.Levels {
		l := &res.Levels[i]
		for j := range l.Rows {
			rows = append(rows, res.csvMetric(l, &l.Rows[j])...)
		}
	}
	return rows
}

// csvMetric returns the lines of a metric.
func (res *Result) csvMetric(l *Level, r *Row) []tabular.CSVRow {
	var rows []tabular.CSVRow
	add := func(record, value string, more tabular.CSVRow) {
		row := tabular.CSVRow{
			"record": record, "level": sanitize.CSVCell(l.Name), "name": r.Metric.Key, "unit": r.Metric.Unit(), "value": value,
			"primary": strconv.FormatBool(r.Metric.Primary),
		}
		for k, v := range more {
			row[k] = v
		}
		rows = append(rows, row)
	}
	number := tabular.CSVNumber
	add("mean", number(r.Mean), tabular.CSVRow{"runs": strconv.Itoa(len(r.Values)), "reason": r.NA})
	for i, v := range r.Values {
		add("run", number(v), tabular.CSVRow{"file": sanitize.CSVCell(l.Runs[i].Name)})
	}
	if r.NA != "" {
		return rows
	}
	const ratio = "ratio"
	add("deviation", number(r.Deviation), tabular.CSVRow{"unit": ratio, "low": number(r.DeviationInterval.Low), "high": number(r.DeviationInterval.High)})
	add("drift", number(r.Drift.Change), tabular.CSVRow{
		"unit": ratio, "low": number(r.Drift.Interval.Low), "high": number(r.Drift.Interval.High), "p": number(r.Drift.P), "p_adjusted": number(r.Drift.Adjusted),
	})
	for i, s := range r.Smallest {
		add("smallest", number(s), tabular.CSVRow{"unit": ratio, "runs": strconv.Itoa(res.Options.RunsASide[i])})
	}
	if res.Options.Effect > 0 {
		row := tabular.CSVRow{"unit": ratio, "runs": strconv.Itoa(r.Needed)}
		if r.Needed > MaxRunsASide {
			row["runs"], row["reason"] = "", "more than "+strconv.Itoa(MaxRunsASide)+" runs a side"
		}
		add("needed", number(res.Options.Effect), row)
	}
	add("neighbors", number(r.Turns.Neighbors), tabular.CSVRow{"unit": ratio, "p": number(r.Turns.P), "p_adjusted": number(r.Turns.Adjusted)})
	return rows
}
