package diff

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// csvHeader is the first line; schemas/diff_csv.md describes the columns.
var csvHeader = []string{
	"record", "level", "name", "unit", "old", "new", "old_n", "new_n", "change", "low", "high",
	"p", "p_adjusted", "rank_p", "verdict", "reason", "needs", "better", "primary", "paired", "file", "confidence",
}

// CSV writes one header and a line for each difference, metric, value of a run
// and gate, in the columns of schemas/diff_csv.md. Floats have all their digits;
// a cell without a value is empty.
func CSV(r *Result) sheet.Renderer { return sheet.CSV(csvHeader, r.csvRows()) }

func (r *Result) csvRows() []sheet.CSVRow {
	c := &r.Old[0].cfg
	because := ""
	if l := r.decisive(); l != nil {
		because = l.Because
	}
	rows := []sheet.CSVRow{
		{"record": "headline", "verdict": r.Headline()},
		{"record": "answer", "verdict": r.Answer.String(), "reason": because},
	}
	measured := func(name, value string) {
		rows = append(rows, sheet.CSVRow{"record": "measured", "name": name, "old": value, "new": value})
	}
	measured("from", c.From.String())
	measured("include_warmup", strconv.FormatBool(c.IncludeWarmup))
	if r.o.Sides != (Sides{}) {
		rows = append(rows, sheet.CSVRow{"record": "side", "name": "label", "old": r.o.Sides.old(), "new": r.o.Sides.new()})
	}
	if c.TokenSource != answer.TokenAuto {
		measured("token_source", c.TokenSource.String())
	}
	if part := c.Selection.String(); part != "" {
		measured("part", part)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		rows = append(rows, sheet.CSVRow{"record": "difference", "level": d.Level, "name": d.Name, "old": d.Old, "new": d.New, "verdict": d.verdict()})
	}
	for _, name := range r.Unchecked {
		rows = append(rows, sheet.CSVRow{"record": "unchecked", "name": name})
	}
	for _, level := range r.OldOnly {
		rows = append(rows, sheet.CSVRow{"record": "level", "level": level, "old": "1", "new": "0"})
	}
	for _, level := range r.NewOnly {
		rows = append(rows, sheet.CSVRow{"record": "level", "level": level, "old": "0", "new": "1"})
	}
	for _, x := range r.LeftOut {
		rows = append(rows, sheet.CSVRow{"record": "left_out", "name": r.numbers[x], "file": x.Name})
	}
	for _, o := range r.Outlying {
		rows = append(rows, sheet.CSVRow{"record": "outlying", "name": o.Run, "level": o.Level, "reason": o.Metric.Key, "change": sheet.CSVNumber(o.Factor - 1), "file": o.File})
	}
	for _, l := range r.allLevels() {
		rows = append(rows, csvParts(l.Name, "old", l.Old)...)
		rows = append(rows, csvParts(l.Name, "new", l.New)...)
		for j := range l.Rows {
			rows = append(rows, l.csvMetric(&l.Rows[j])...)
		}
		for j := range l.Server {
			rows = append(rows, l.csvServer(&l.Server[j]))
		}
	}
	for _, g := range r.Gates {
		rows = append(rows, sheet.CSVRow{"record": "gate", "level": g.Level, "name": g.title(), "verdict": g.State.String(), "reason": strings.Join(g.Because, "; ")})
	}
	return rows
}

// csvParts returns the lines of the selected parts of a side's runs.
func csvParts(level, side string, levels []*Level) []sheet.CSVRow {
	var rows []sheet.CSVRow
	for _, l := range levels {
		if l.Selected != nil {
			rows = append(rows, sheet.CSVRow{"record": "part", "level": level, "name": l.Selected.How, side: report.Selected(l.Selected), "file": l.run})
		}
	}
	return rows
}

// csvMetric returns the line of a metric and the lines of its runs.
func (l *LevelResult) csvMetric(r *Row) []sheet.CSVRow {
	number, i := sheet.CSVNumber, r.Shown()
	row := sheet.CSVRow{
		"record": "metric", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit(),
		"old": number(r.Old.Value), "new": number(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": number(r.Change), "low": number(i.Low), "high": number(i.High), "p": number(r.P), "p_adjusted": number(r.Adjusted),
		"better": r.Metric.better(), "primary": strconv.FormatBool(r.Primary), "paired": strconv.FormatBool(r.Paired), "reason": r.Spoiled,
	}
	if r.Primary {
		row["verdict"] = r.Verdict.String()
	}
	if r.Rank != nil {
		row["rank_p"] = number(r.Rank.P)
	}
	csvNA(row, r.NA)
	if !r.NA.Missing() {
		row["confidence"] = number(r.Level)
	}
	rows := []sheet.CSVRow{row}
	run := func(side string, v float64, of *Level) {
		rows = append(rows, sheet.CSVRow{"record": "run", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit(), side: number(v), "file": of.run})
	}
	for j, v := range r.OldRuns {
		run("old", v, l.Old[j])
	}
	for j, v := range r.NewRuns {
		run("new", v, l.New[j])
	}
	return rows
}

// csvNA adds why a line has no interval; nothing if it has one.
func csvNA(row sheet.CSVRow, na inference.NA) {
	if !na.Missing() {
		return
	}
	row["reason"] = na.Reason
	if na.Needs > 0 {
		row["needs"] = strconv.Itoa(na.Needs)
	}
}

// csvServer returns the line of a figure of a server or GPU.
func (l *LevelResult) csvServer(r *ServerRow) sheet.CSVRow {
	i := r.Interval(confidence)
	number := sheet.CSVNumber
	row := sheet.CSVRow{
		"record": "server", "level": l.Name, "name": r.Name + " of " + r.Of(), "unit": r.Unit,
		"old": number(r.Old.Value), "new": number(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": number(r.Change), "low": number(i.Low), "high": number(i.High), "p": number(r.P),
	}
	csvNA(row, r.NA)
	return row
}
