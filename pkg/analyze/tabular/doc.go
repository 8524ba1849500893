// Package tabular formats numbers, tables, CSV lines and JSON numbers. Packages diff, rig and
// trend share it, so that a change of 4.96 % looks the same in all of their outputs.
//
//	t := tabular.Table{Rows: [][]string{{"", "change"}, {"TTFT p50", tabular.Change(0.0496)}}}
//	fmt.Print(t.Text("  ", 80))
//
// Ratios, shares and changes are from 0 to 1 on input, 0.05 for five percent, and in percent
// in texts for people. CSV and JSON keep ratios.
package tabular
