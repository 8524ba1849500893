// Package names lists the numbers of a report with their definitions and with their names in the
// conventions of OpenTelemetry and in result files of other tools.
//
//	for _, e := range names.All() {
//		fmt.Println(e.Key, e.Unit, e.Formula, e.OTel.Name)
//	}
//
// Package answer defines the metrics of requests, and package analyze the figures of a level. This
// package collects them and adds the rates. The names that dialects print are in the dialects
// ([github.com/pa-tools/pa/pkg/analyze/explain.Definition]). The page
// docs/reference/names.md is made of both.
package names
