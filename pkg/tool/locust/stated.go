package locust

import (
	"bytes"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// Locust writes the figures of each kind of request, in milliseconds and bytes:
//
//	[{"name":S,"method":S,"num_requests":N,"num_failures":N,"total_response_time":T,"max_response_time":T,"response_times":{…},…},…]
//
//	Type,Name,Request Count,Failure Count,Median Response Time,…,50%,66%,…,100%
//
// The JSON has no percentiles: response_times counts requests by rounded times.

const (
	toolName     = "Locust"
	tableColumns = "Type,Name,Request Count,Failure Count,"
)

// ResultFile describes the files of Locust.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{
		Beside: resultfile.Neighbours(toolName, "the file …_stats.csv from the same folder", []resultfile.Neighbour{
			{What: "…_stats_history.csv", Holds: "figures over time", Is: begins("Timestamp,User Count,Type,Name,")},
			{What: "…_failures.csv", Holds: "messages", Is: begins("Method,Name,Error,Occurrences")},
			{What: "…_exceptions.csv", Holds: "messages", Is: begins("Count,Message,Traceback,Nodes")},
		}),
		Stated: []resultfile.Statement{
			{
				Definitions: toolName,
				Sniff: func(o *resultfile.Outline) bool {
					return o.Array && o.Has("name", "method", "num_requests", "total_response_time")
				},
				Is:   func(o *resultfile.Object) bool { return o.Has("name", "num_requests", "total_response_time") },
				Read: readJSON,
			},
			{
				Definitions: toolName,
				Sniff:       begins(tableColumns),
				Decode:      resultfile.Rows(tableColumns, ""),
				Is:          func(o *resultfile.Object) bool { return o.Has("Name", "Request Count", "Failure Count") },
				Read:        readLine,
			},
		},
	}
}

// begins recognizes a table by its first columns.
func begins(columns string) func(*resultfile.Outline) bool {
	return func(o *resultfile.Outline) bool { return bytes.HasPrefix(o.Head, []byte(columns)) }
}

// readJSON reads the figures of a kind of request.
func readJSON(o *resultfile.Object, r *stated.Result) {
	const note = "percentiles are in …_stats.csv (--csv): this file counts requests by rounded times"
	if r.Notes == nil {
		r.Notes = []string{note}
	}
	kind := strings.TrimSpace(o.Text("method") + " " + o.Text("name"))
	l := stated.Level{}
	for _, v := range o.Values {
		metric, statistic, unit := v.Path, "", ""
		for _, of := range []string{"total", "max", "min"} {
			if rest, ok := strings.CutPrefix(metric, of+"_"); ok {
				metric, statistic = rest, of
			}
		}
		switch {
		case !v.IsNumber(), strings.Contains(v.Path, "."), metric == "start_time", metric == "last_request_timestamp":
			continue
		case metric == "response_time":
			unit = "ms"
		case metric == "content_length":
			unit = "bytes"
		}
		l.Figures = append(l.Figures, v.Figure(kind+" "+metric, statistic, unit))
	}
	resultfile.Append(r, l)
}

// readLine reads a line of the table. The last line is about all requests.
func readLine(o *resultfile.Object, r *stated.Result) {
	const responseTime = "Response Time"
	kind := strings.TrimSpace(o.Text("Type") + " " + o.Text("Name"))
	l := stated.Level{}
	for _, v := range o.Values {
		metric, statistic, unit := v.Path, "", ""
		switch {
		case v.Path == "Type", v.Path == "Name", v.Quoted && v.Text != "N/A":
			continue
		case strings.HasSuffix(v.Path, " "+responseTime):
			metric, statistic, unit = responseTime, strings.TrimSuffix(v.Path, " "+responseTime), "ms"
		case strings.HasSuffix(v.Path, "%"):
			metric, statistic, unit = responseTime, v.Path, "ms"
		case v.Path == "Average Content Size":
			unit = "bytes"
		}
		l.Figures = append(l.Figures, v.Figure(kind+" "+metric, statistic, unit))
	}
	resultfile.Append(r, l)
}
