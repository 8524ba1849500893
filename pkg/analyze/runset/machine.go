package runset

import (
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// This file has the parts of JSON and CSV that packages rig and trend share.

// JSONDifferences returns the differences for JSON.
func (s *Set) JSONDifferences() []sheet.Object {
	return sheet.List(s.Differences, func(d *Difference) sheet.Object {
		values := sheet.List(d.Values, func(v *Value) sheet.Object { return sheet.Object{"text", v.Text, "files", v.Runs} })
		return sheet.Object{"name", d.Name, "level", sheet.Opt(d.Level), "values", values, "refuses", d.Refuses, "ignored", d.Ignored}
	})
}

// JSON returns the members of a level in JSON, with the files that have it.
func (l *Level) JSON() sheet.Object {
	var files []string
	for _, r := range l.Runs {
		files = append(files, r.Name)
	}
	return sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value, "files", files}
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
