// Package sheet writes the results of analyses: a [Sheet] of sentences and tables as text or
// Markdown, lines of CSV, documents of JSON, and suites of JUnit XML. It also formats numbers, so
// that a change of 4.96 % looks the same in all outputs.
//
//	s := &sheet.Sheet{Heads: []string{"no difference"}}
//	s.Part("concurrency 8").Table(sheet.Table{Rows: [][]string{{"", "change"}, {"TTFT p50", sheet.Change(0.0496)}}})
//	err := sheet.Text(80, s)(os.Stdout)
//
// Ratios, shares and changes are from 0 to 1 on input, 0.05 for five percent, and in percent
// in texts for people. CSV and JSON keep ratios. Texts of servers and files may be passed as
// they are: the package makes them safe for each format.
package sheet
