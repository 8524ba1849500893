package runset

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// This file has the parts of JSON and CSV that packages rig and trend share.

// A JSONRun is a run in JSON.
type JSONRun struct {
	File  string `json:"file"`
	Model string `json:"model,omitempty"`
	Tool  string `json:"tool,omitempty"`
}

// JSONRuns returns runs for JSON, never nil.
func JSONRuns(runs []*diff.Run) []JSONRun {
	all := []JSONRun{}
	for _, r := range runs {
		x := JSONRun{File: r.Name, Model: r.Model}
		if r.Header.Meta != nil {
			x.Tool = r.Header.Meta.Tool
		}
		all = append(all, x)
	}
	return all
}

// A JSONDifference is a difference in JSON.
type JSONDifference struct {
	Name    string      `json:"name"`
	Level   string      `json:"level,omitempty"`
	Values  []JSONValue `json:"values"`
	Refuses bool        `json:"refuses"`
	Ignored bool        `json:"ignored"`
}

// A JSONValue is a value of a difference in JSON, and the runs that have it.
type JSONValue struct {
	Text  string   `json:"text"`
	Files []string `json:"files"`
}

// JSONDifferences returns the differences for JSON, never nil.
func (s *Set) JSONDifferences() []JSONDifference {
	all := []JSONDifference{}
	for _, d := range s.Differences {
		x := JSONDifference{Name: d.Name, Level: d.Level, Values: []JSONValue{}, Refuses: d.Refuses, Ignored: d.Ignored}
		for _, v := range d.Values {
			x.Values = append(x.Values, JSONValue{v.Text, v.Runs})
		}
		all = append(all, x)
	}
	return all
}

// JSONNumber returns nil for NaN and infinities, for which JSON has no number.
func JSONNumber(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// JSONNumbers returns numbers for JSON, never nil; NaN and infinities become null.
func JSONNumbers(x []float64) []*float64 {
	all := []*float64{}
	for _, v := range x {
		all = append(all, JSONNumber(v))
	}
	return all
}

// A CSVRow maps the columns of a CSV line to its cells; a column that it lacks is empty.
type CSVRow map[string]string

// CSV writes the header, and each row in the order of the header's columns.
func CSV(header []string, rows []CSVRow) report.Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		if err := c.Write(header); err != nil {
			return err
		}
		for _, row := range rows {
			cells := make([]string, len(header))
			for i, column := range header {
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

// CSVDifferences returns a line for each value of each difference. The columns are record,
// level, name, value, reason (the effect of the difference) and file.
func (s *Set) CSVDifferences() []CSVRow {
	var rows []CSVRow
	for i := range s.Differences {
		d := &s.Differences[i]
		for _, v := range d.Values {
			for _, run := range v.Runs {
				rows = append(rows, CSVRow{
					"record": "difference", "level": sanitize.CSVCell(d.Level), "name": d.Name, "value": sanitize.CSVCell(sanitize.Text(v.Text)),
					"reason": d.Effect(), "file": sanitize.CSVCell(run),
				})
			}
		}
	}
	return rows
}

// CSVNumber formats v with all digits and no exponent; "" for NaN and infinities.
func CSVNumber(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
