package runset

import (
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// This file has the parts of JSON and CSV that packages rig and trend share.

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

// CSVDifferences returns a line for each value of each difference. The columns are record,
// level, name, value, reason (the effect of the difference) and file.
func (s *Set) CSVDifferences() []sheet.CSVRow {
	var rows []sheet.CSVRow
	for i := range s.Differences {
		d := &s.Differences[i]
		for _, v := range d.Values {
			for _, run := range v.Runs {
				rows = append(rows, sheet.CSVRow{
					"record": "difference", "level": d.Level, "name": d.Name, "value": v.Text,
					"reason": d.Effect(), "file": run,
				})
			}
		}
	}
	return rows
}
