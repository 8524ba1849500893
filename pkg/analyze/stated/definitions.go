package stated

import "github.com/pa-tools/pa/pkg/analyze/sheet"

// A Formula is how a tool defines a metric.
type Formula struct {
	Measure string // in words: "TTFT, time to first token"
	Name    string // of the tool
	Rule    string // in a line
	Ours    string // this project's rule for the measure
}

// Definitions returns the formulas of the tool of a result in each format.
func Definitions(r *Result, all []Formula) *sheet.Formats {
	return &sheet.Formats{
		Sheets: sheet.One(func() *sheet.Sheet {
			s := &sheet.Sheet{Title: r.File, About: []string{r.about(), "the file holds figures only, without the requests to which the rules apply"}}
			for _, f := range all {
				s.Part(f.Measure).Table(sheet.Table{Rows: [][]string{{"", ""}, {"strict", f.Ours}, {r.Definitions, f.Name + ": " + f.Rule}}, Left: []string{""}})
			}
			return s
		}),
		JSON: func() sheet.Object {
			return sheet.Object{"schema", "pa-stated-definitions/1", "file", r.File, "tool", r.Definitions, "definitions", sheet.List(all, func(f *Formula) sheet.Object {
				return sheet.Object{"measure", f.Measure, "name", f.Name, "formula", f.Rule, "strict", f.Ours}
			})}
		},
		Columns: []string{"measure", "name", "formula", "strict"},
		CSV: func() (rows []sheet.CSVRow) {
			for _, f := range all {
				rows = append(rows, sheet.CSVRow{"measure": f.Measure, "name": f.Name, "formula": f.Rule, "strict": f.Ours})
			}
			return rows
		},
	}
}
