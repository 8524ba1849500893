package diff

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
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
	m := measured(&r.Old[0].cfg)
	rows := []sheet.CSVRow{
		{"record": "headline", "verdict": r.Headline()},
		{"record": "answer", "verdict": r.Answer.String(), "reason": r.jsonAnswer().Because},
		{"record": "measured", "name": "from", "old": m.From, "new": m.From},
		{"record": "measured", "name": "include_warmup", "old": strconv.FormatBool(m.IncludeWarmup), "new": strconv.FormatBool(m.IncludeWarmup)},
	}
	if r.o.Sides != (Sides{}) {
		rows = append(rows, sheet.CSVRow{"record": "side", "name": "label", "old": r.o.Sides.old(), "new": r.o.Sides.new()})
	}
	if m.TokenSource != "" {
		rows = append(rows, sheet.CSVRow{"record": "measured", "name": "token_source", "old": m.TokenSource, "new": m.TokenSource})
	}
	if m.Part != "" {
		rows = append(rows, sheet.CSVRow{"record": "measured", "name": "part", "old": m.Part, "new": m.Part})
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
	m := metric(r)
	row := sheet.CSVRow{
		"record": "metric", "level": l.Name, "name": m.Metric, "unit": m.Unit,
		"old": sheet.CSVNumber(r.Old.Value), "new": sheet.CSVNumber(r.New.Value), "old_n": strconv.Itoa(m.OldN), "new_n": strconv.Itoa(m.NewN),
		"change": sheet.CSVNumber(r.Change), "p": sheet.CSVNumber(r.P), "p_adjusted": sheet.CSVNumber(r.Adjusted), "verdict": m.Verdict,
		"better": m.Better, "primary": strconv.FormatBool(m.Primary), "paired": strconv.FormatBool(m.Paired),
	}
	i := r.Shown()
	row["low"], row["high"] = sheet.CSVNumber(i.Low), sheet.CSVNumber(i.High)
	if !r.NA.Missing() {
		row["confidence"] = sheet.CSVNumber(r.Level)
	}
	if r.Rank != nil {
		row["rank_p"] = sheet.CSVNumber(r.Rank.P)
	}
	row["reason"] = r.Spoiled
	if r.NA.Missing() {
		row["reason"] = r.NA.Reason
		if r.NA.Needs > 0 {
			row["needs"] = strconv.Itoa(r.NA.Needs)
		}
	}
	rows := []sheet.CSVRow{row}
	for j, v := range r.OldRuns {
		rows = append(rows, sheet.CSVRow{"record": "run", "level": l.Name, "name": m.Metric, "unit": m.Unit, "old": sheet.CSVNumber(v), "file": l.Old[j].run})
	}
	for j, v := range r.NewRuns {
		rows = append(rows, sheet.CSVRow{"record": "run", "level": l.Name, "name": m.Metric, "unit": m.Unit, "new": sheet.CSVNumber(v), "file": l.New[j].run})
	}
	return rows
}

// csvServer returns the line of a figure of a server or GPU.
func (l *LevelResult) csvServer(r *ServerRow) sheet.CSVRow {
	i := r.Interval(confidence)
	row := sheet.CSVRow{
		"record": "server", "level": l.Name, "name": r.Name + " of " + r.Of(), "unit": r.Unit,
		"old": sheet.CSVNumber(r.Old.Value), "new": sheet.CSVNumber(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": sheet.CSVNumber(r.Change), "low": sheet.CSVNumber(i.Low), "high": sheet.CSVNumber(i.High), "p": sheet.CSVNumber(r.P),
	}
	if r.NA.Missing() {
		row["reason"] = r.NA.Reason
		if r.NA.Needs > 0 {
			row["needs"] = strconv.Itoa(r.NA.Needs)
		}
	}
	return row
}
