// Package report writes analyses for people and for programs.
//
// A [Renderer] writes one finished report; each constructor binds what to
// write:
//
//	r := report.Table([]report.Input{{Name: "run.json", Report: rep}}, report.Options{})
//	err := r(os.Stdout)
//
// The table shows each kind of time in one unit, aligned at the decimal points. A table
// wider than [Options.Width] continues below itself. JSON (schema pa-report/1, in schemas/)
// and CSV hold nanoseconds and full precision; Markdown is for pull requests. Text from a
// server or a file is escaped before it reaches a terminal or a page.
//
// The package computes nothing but units.
package report
