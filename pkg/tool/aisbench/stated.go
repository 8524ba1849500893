package aisbench

import (
	"bytes"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// AISBench writes two files, whose numbers have their units behind them:
//
//	{"Benchmark Duration":{"total":"1200.5 ms"},"Total Requests":{"total":8},"Max Concurrency":{"total":4},…}
//
//	Performance Parameters,Stage,Average,Min,…,N
//	TTFT,total,25.1 ms,21.9 ms,…,8
//
// A stage is the whole run, "total", or the part of it in which all places were taken, "stable".

const toolName = "AISBench"

// stages are the stages, with the definitions of their figures.
var stages = []struct{ name, definitions string }{{"total", toolName}, {"stable", toolName + " (stable stage)"}}

const (
	metricColumn = "Performance Parameters"
	stageColumn  = "Stage"
	duration     = "Benchmark Duration"
)

// ResultFile describes the files of AISBench.
func ResultFile() resultfile.Kind {
	k := resultfile.Kind{Beside: []resultfile.Neighbour{{
		Is:   func(o *resultfile.Outline) bool { return !o.Array && o.Has("data_abbr", "success", "time_points") },
		What: "the details of " + toolName, Holds: "texts without times (the times are in a database)", Give: "the .csv or .json file of the dataset from the same folder",
	}}}
	for _, stage := range stages {
		k.Stated = append(k.Stated, resultfile.Statement{
			Definitions: stage.definitions,
			Sniff: func(o *resultfile.Outline) bool {
				return !o.Array && o.Has(duration, "Total Requests") || bytes.HasPrefix(o.Head, []byte(metricColumn+","+stageColumn+","))
			},
			Decode: resultfile.Rows(metricColumn+","+stageColumn+",", stage.name+","),
			Is: func(o *resultfile.Object) bool {
				return o.Has(duration+"."+stage.name) || o.Has(metricColumn) && o.Text(stageColumn) == stage.name
			},
			Read: func(o *resultfile.Object, r *stated.Result) { read(o, r, stage.name) },
		})
	}
	return k
}

// read reads a stage of a file, or a line of the table.
func read(o *resultfile.Object, r *stated.Result, stage string) {
	l := stated.Level{}
	metric := o.Text(metricColumn)
	if metric != "" && r.Notes == nil {
		r.Notes = []string{"the load and the rates are in the .json of the same name"}
	}
	for _, v := range o.Values {
		name, statistic := metric, v.Path
		if metric == "" {
			var ok bool
			if name, ok = strings.CutSuffix(v.Path, "."+stage); !ok {
				continue
			}
			statistic = ""
		}
		unit := v.Unquote()
		switch {
		case !v.IsNumber():
		case name == "Max Concurrency":
			l.Mode, l.Value = export.ModeConcurrency, v.Text
		default:
			l.Figures = append(l.Figures, v.Figure(name, statistic, unit))
		}
	}
	resultfile.Append(r, l)
}
