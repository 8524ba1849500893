// Package explain compares how tools define the same measure, and explains why their
// figures for one file differ from the strict ones of package analyze.
//
//	x := explain.NewExplainer(answer.NewMeter(run, answer.Config{}), new(explain.Kinds))
//	x.Request(q)           // for each request that the tool reads
//	x.First(recvNS)        // the tool's choice of the first token
//	x.Differs(explain.FirstToken)
//
// A Measure is a quantity such as TTFT. A Definition is one tool's formula for it with
// the values of a load level. A Comparison puts the definitions of several dialects
// side by side. Values are in the unit of their measure: nanoseconds, tokens, a count,
// or per second.
//
// An [Entry] defines a number of our reports, with its names in OpenTelemetry and in result files of other tools; the page
// docs/reference/names.md is made of all of them:
//
//	for _, e := range explain.All() {
//		fmt.Println(e.Key, e.Unit, e.Formula, e.OTel.Name)
//	}
//
// The package measures nothing as a tool does: the dialects do, and report their
// choices to an Explainer.
package explain
