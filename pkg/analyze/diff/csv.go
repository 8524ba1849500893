package diff

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// csvHeader is the first line; schemas/diff_csv.md describes the columns.
var csvHeader = []string{
	"record", "level", "name", "unit", "old", "new", "old_n", "new_n", "change", "low", "high",
	"p", "p_adjusted", "rank_p", "verdict", "reason", "needs", "better", "primary", "paired", "file", "confidence",
}

// CSV writes one header and a line for each difference, metric, value of a run
// and gate, in the columns of schemas/diff_csv.md. Floats have all their digits;
// a cell without a value is empty.
func CSV(r *Result) report.Renderer { return tabular.CSV(csvHeader, r.csvRows()) }

func (r *Result) csvRows() []tabular.CSVRow {
	m := measured(&r.Old[0].cfg)
	rows := []tabular.CSVRow{
		{"record": "headline", "verdict": sanitize.CSVCell(r.Headline())},
		{"record": "answer", "verdict": r.Answer.String(), "reason": sanitize.CSVCell(r.jsonAnswer().Because)},
		{"record": "measured", "name": "from", "old": m.From, "new": m.From},
		{"record": "measured", "name": "include_warmup", "old": strconv.FormatBool(m.IncludeWarmup), "new": strconv.FormatBool(m.IncludeWarmup)},
	}
	if r.o.Sides != (Sides{}) {
		rows = append(rows, tabular.CSVRow{"record": "side", "name": "label", "old": sanitize.CSVCell(r.o.Sides.old()), "new": sanitize.CSVCell(r.o.Sides.new())})
	}
	if m.TokenSource != "" {
		rows = append(rows, tabular.CSVRow{"record": "measured", "name": "token_source", "old": m.TokenSource, "new": m.TokenSource})
	}
	if m.Part != "" {
		rows = append(rows, tabular.CSVRow{"record": "measured", "name": "part", "old": m.Part, "new": m.Part})
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		rows = append(rows, tabular.CSVRow{"record": "difference", "level": sanitize.CSVCell(d.Level), "name": d.Name, "old": sanitize.CSVCell(d.Old), "new": sanitize.CSVCell(d.New), "verdict": d.verdict()})
	}
	for _, name := range r.Unchecked {
		rows = append(rows, tabular.CSVRow{"record": "unchecked", "name": name})
	}
	for _, level := range r.OldOnly {
		rows = append(rows, tabular.CSVRow{"record": "level", "level": sanitize.CSVCell(level), "old": "1", "new": "0"})
	}
	for _, level := range r.NewOnly {
		rows = append(rows, tabular.CSVRow{"record": "level", "level": sanitize.CSVCell(level), "old": "0", "new": "1"})
	}
	for _, x := range r.LeftOut {
		rows = append(rows, tabular.CSVRow{"record": "left_out", "name": sanitize.CSVCell(r.numbers[x]), "file": sanitize.CSVCell(x.Name)})
	}
	for _, o := range r.Outlying {
		rows = append(rows, tabular.CSVRow{"record": "outlying", "name": sanitize.CSVCell(o.Run), "level": sanitize.CSVCell(o.Level), "reason": o.Metric.Key, "change": tabular.CSVNumber(o.Factor - 1), "file": sanitize.CSVCell(o.File)})
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
		rows = append(rows, tabular.CSVRow{"record": "gate", "level": sanitize.CSVCell(g.Level), "name": g.title(), "verdict": g.State.String(), "reason": strings.Join(g.Because, "; ")})
	}
	return rows
}

// csvParts returns the lines of the selected parts of a side's runs.
func csvParts(level, side string, levels []*Level) []tabular.CSVRow {
	var rows []tabular.CSVRow
	for _, l := range levels {
		if l.Selected != nil {
			rows = append(rows, tabular.CSVRow{"record": "part", "level": sanitize.CSVCell(level), "name": l.Selected.How, side: report.Selected(l.Selected), "file": sanitize.CSVCell(l.run)})
		}
	}
	return rows
}

// csvMetric returns the line of a metric and the lines of its runs.
func (l *LevelResult) csvMetric(r *Row) []tabular.CSVRow {
	m := metric(r)
	row := tabular.CSVRow{
		"record": "metric", "level": sanitize.CSVCell(l.Name), "name": m.Metric, "unit": m.Unit,
		"old": tabular.CSVNumber(r.Old.Value), "new": tabular.CSVNumber(r.New.Value), "old_n": strconv.Itoa(m.OldN), "new_n": strconv.Itoa(m.NewN),
		"change": tabular.CSVNumber(r.Change), "p": tabular.CSVNumber(r.P), "p_adjusted": tabular.CSVNumber(r.Adjusted), "verdict": m.Verdict,
		"better": m.Better, "primary": strconv.FormatBool(m.Primary), "paired": strconv.FormatBool(m.Paired),
	}
	i := r.Shown()
	row["low"], row["high"] = tabular.CSVNumber(i.Low), tabular.CSVNumber(i.High)
	if !r.NA.Missing() {
		row["confidence"] = tabular.CSVNumber(r.Level)
	}
	if r.Rank != nil {
		row["rank_p"] = tabular.CSVNumber(r.Rank.P)
	}
	row["reason"] = r.Spoiled
	if r.NA.Missing() {
		row["reason"] = r.NA.Reason
		if r.NA.Needs > 0 {
			row["needs"] = strconv.Itoa(r.NA.Needs)
		}
	}
	rows := []tabular.CSVRow{row}
	for j, v := range r.OldRuns {
		rows = append(rows, tabular.CSVRow{"record": "run", "level": sanitize.CSVCell(l.Name), "name": m.Metric, "unit": m.Unit, "old": tabular.CSVNumber(v), "file": sanitize.CSVCell(l.Old[j].run)})
	}
	for j, v := range r.NewRuns {
		rows = append(rows, tabular.CSVRow{"record": "run", "level": sanitize.CSVCell(l.Name), "name": m.Metric, "unit": m.Unit, "new": tabular.CSVNumber(v), "file": sanitize.CSVCell(l.New[j].run)})
	}
	return rows
}

// csvServer returns the line of a figure of a server or GPU.
func (l *LevelResult) csvServer(r *ServerRow) tabular.CSVRow {
	i := r.Interval(confidence)
	row := tabular.CSVRow{
		"record": "server", "level": sanitize.CSVCell(l.Name), "name": sanitize.CSVCell(r.Name + " of " + r.Of()), "unit": r.Unit,
		"old": tabular.CSVNumber(r.Old.Value), "new": tabular.CSVNumber(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": tabular.CSVNumber(r.Change), "low": tabular.CSVNumber(i.Low), "high": tabular.CSVNumber(i.High), "p": tabular.CSVNumber(r.P),
	}
	if r.NA.Missing() {
		row["reason"] = r.NA.Reason
		if r.NA.Needs > 0 {
			row["needs"] = strconv.Itoa(r.NA.Needs)
		}
	}
	return row
}
