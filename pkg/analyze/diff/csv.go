package diff

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// csvHeader is the first line; schemas/diff_csv.md describes the columns.
var csvHeader = []string{
	"record", "level", "name", "unit", "old", "new", "old_n", "new_n", "change", "low", "high",
	"p", "p_adjusted", "rank_p", "verdict", "reason", "needs", "better", "primary", "paired", "file", "confidence",
}

// A csvRow is a line of CSV, by column.
type csvRow map[string]string

// CSV writes one header and a line for each difference, metric, value of a run
// and gate, in the columns of schemas/diff_csv.md. Floats have all their digits;
// a cell without a value is empty.
func CSV(r *Result) report.Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		if err := c.Write(csvHeader); err != nil {
			return err
		}
		for _, row := range r.csvRows() {
			cells := make([]string, len(csvHeader))
			for i, column := range csvHeader {
				cells[i] = row[column]
			}
			if err := c.Write(cells); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	}
}

func (r *Result) csvRows() []csvRow {
	m := measured(&r.Old[0].cfg)
	rows := []csvRow{
		{"record": "headline", "verdict": sanitize.CSVCell(r.Headline())},
		{"record": "measured", "name": "from", "old": m.From, "new": m.From},
		{"record": "measured", "name": "include_warmup", "old": strconv.FormatBool(m.IncludeWarmup), "new": strconv.FormatBool(m.IncludeWarmup)},
	}
	if m.TokenSource != "" {
		rows = append(rows, csvRow{"record": "measured", "name": "token_source", "old": m.TokenSource, "new": m.TokenSource})
	}
	if m.Part != "" {
		rows = append(rows, csvRow{"record": "measured", "name": "part", "old": m.Part, "new": m.Part})
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		rows = append(rows, csvRow{"record": "difference", "level": sanitize.CSVCell(d.Level), "name": d.Name, "old": sanitize.CSVCell(d.Old), "new": sanitize.CSVCell(d.New), "verdict": d.verdict()})
	}
	for _, name := range r.Unchecked {
		rows = append(rows, csvRow{"record": "unchecked", "name": name})
	}
	for _, level := range r.OldOnly {
		rows = append(rows, csvRow{"record": "level", "level": sanitize.CSVCell(level), "old": "1", "new": "0"})
	}
	for _, level := range r.NewOnly {
		rows = append(rows, csvRow{"record": "level", "level": sanitize.CSVCell(level), "old": "0", "new": "1"})
	}
	for i := range r.Levels {
		l := &r.Levels[i]
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
		rows = append(rows, csvRow{"record": "gate", "level": sanitize.CSVCell(g.Level), "name": g.Expr, "verdict": g.State.String(), "reason": strings.Join(g.Because, "; ")})
	}
	return rows
}

// csvParts returns the lines of the selected parts of a side's runs.
func csvParts(level, side string, levels []*Level) []csvRow {
	var rows []csvRow
	for _, l := range levels {
		if l.Selected != nil {
			rows = append(rows, csvRow{"record": "part", "level": sanitize.CSVCell(level), "name": l.Selected.How, side: report.Selected(l.Selected), "file": sanitize.CSVCell(l.run)})
		}
	}
	return rows
}

// csvMetric returns the line of a metric and the lines of its runs.
func (l *LevelResult) csvMetric(r *Row) []csvRow {
	m := metric(r)
	row := csvRow{
		"record": "metric", "level": sanitize.CSVCell(l.Name), "name": m.Metric, "unit": m.Unit,
		"old": csvFloat(r.Old.Value), "new": csvFloat(r.New.Value), "old_n": strconv.Itoa(m.OldN), "new_n": strconv.Itoa(m.NewN),
		"change": csvFloat(r.Change), "p": csvFloat(r.P), "p_adjusted": csvFloat(r.Adjusted), "verdict": m.Verdict,
		"better": m.Better, "primary": strconv.FormatBool(m.Primary), "paired": strconv.FormatBool(m.Paired),
	}
	i := r.Shown()
	row["low"], row["high"] = csvFloat(i.Low), csvFloat(i.High)
	if !r.NA.Missing() {
		row["confidence"] = csvFloat(r.Level)
	}
	if r.Rank != nil {
		row["rank_p"] = csvFloat(r.Rank.P)
	}
	row["reason"] = r.Spoiled
	if r.NA.Missing() {
		row["reason"] = r.NA.Reason
		if r.NA.Needs > 0 {
			row["needs"] = strconv.Itoa(r.NA.Needs)
		}
	}
	rows := []csvRow{row}
	for j, v := range r.OldRuns {
		rows = append(rows, csvRow{"record": "run", "level": sanitize.CSVCell(l.Name), "name": m.Metric, "unit": m.Unit, "old": csvFloat(v), "file": sanitize.CSVCell(l.Old[j].run)})
	}
	for j, v := range r.NewRuns {
		rows = append(rows, csvRow{"record": "run", "level": sanitize.CSVCell(l.Name), "name": m.Metric, "unit": m.Unit, "new": csvFloat(v), "file": sanitize.CSVCell(l.New[j].run)})
	}
	return rows
}

// csvServer returns the line of a figure of a server or GPU.
func (l *LevelResult) csvServer(r *ServerRow) csvRow {
	i := r.Interval(confidence)
	row := csvRow{
		"record": "server", "level": sanitize.CSVCell(l.Name), "name": sanitize.CSVCell(r.Name + " of " + r.Of()), "unit": r.Unit,
		"old": csvFloat(r.Old.Value), "new": csvFloat(r.New.Value), "old_n": strconv.Itoa(r.Old.N), "new_n": strconv.Itoa(r.New.N),
		"change": csvFloat(r.Change), "low": csvFloat(i.Low), "high": csvFloat(i.High), "p": csvFloat(r.P),
	}
	if r.NA.Missing() {
		row["reason"] = r.NA.Reason
		if r.NA.Needs > 0 {
			row["needs"] = strconv.Itoa(r.NA.Needs)
		}
	}
	return row
}

// csvFloat formats v with all digits and no exponent; "" for NaN and infinities.
func csvFloat(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
