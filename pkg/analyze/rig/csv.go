package rig

import (
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// csvHeader is the header line; schemas/rig_csv.md describes the columns.
var csvHeader = []string{"record", "level", "name", "unit", "value", "low", "high", "p", "p_adjusted", "runs", "primary", "reason", "file"}

// CSV writes one header and a line for each difference, metric, number of runs a side and
// value of a run, in the columns of schemas/rig_csv.md. Floats have all their digits; a
// cell without a value is empty.
func CSV(res *Result) sheet.Renderer { return sheet.CSV(csvHeader, res.csvRows()) }

func (res *Result) csvRows() []sheet.CSVRow {
	rows := []sheet.CSVRow{{"record": "measured", "value": res.Set.Runs[0].Measured()}}
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
func (res *Result) csvMetric(l *Level, r *Row) []sheet.CSVRow {
	var rows []sheet.CSVRow
	add := func(record, value string, more sheet.CSVRow) {
		row := sheet.CSVRow{
			"record": record, "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit(), "value": value,
			"primary": strconv.FormatBool(r.Metric.Primary),
		}
		for k, v := range more {
			row[k] = v
		}
		rows = append(rows, row)
	}
	number := sheet.CSVNumber
	add("mean", number(r.Mean), sheet.CSVRow{"runs": strconv.Itoa(len(r.Values)), "reason": r.NA})
	for i, v := range r.Values {
		add("run", number(v), sheet.CSVRow{"file": l.Runs[i].Name})
	}
	if r.NA != "" {
		return rows
	}
	const ratio = "ratio"
	add("deviation", number(r.Deviation), sheet.CSVRow{"unit": ratio, "low": number(r.DeviationInterval.Low), "high": number(r.DeviationInterval.High)})
	add("drift", number(r.Drift.Change), sheet.CSVRow{
		"unit": ratio, "low": number(r.Drift.Interval.Low), "high": number(r.Drift.Interval.High), "p": number(r.Drift.P), "p_adjusted": number(r.Drift.Adjusted),
	})
	for i, s := range r.Smallest {
		add("smallest", number(s), sheet.CSVRow{"unit": ratio, "runs": strconv.Itoa(res.Options.RunsASide[i])})
	}
	if res.Options.Effect > 0 {
		row := sheet.CSVRow{"unit": ratio, "runs": strconv.Itoa(r.Needed)}
		if r.Needed > MaxRunsASide {
			row["runs"], row["reason"] = "", "more than "+strconv.Itoa(MaxRunsASide)+" runs a side"
		}
		add("needed", number(res.Options.Effect), row)
	}
	add("neighbors", number(r.Turns.Neighbors), sheet.CSVRow{"unit": ratio, "p": number(r.Turns.P), "p_adjusted": number(r.Turns.Adjusted)})
	return rows
}
