package aiperf

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// statement is the summary profile_export_aiperf.json.
func statement() resultfile.Statement {
	return resultfile.Statement{
		Definitions: "AIPerf", Dialect: "aiperf", Rates: stated.Rates{User: "output_token_throughput_per_user avg", GPU: "output_token_throughput"},
		// Releases before 0.4 write no version.
		Is: func(o *resultfile.Object) bool {
			o = withoutRecords(o)
			return o.Has("request_count.unit") && (o.Has("aiperf_version") || o.Text("request_count.unit") == "requests")
		},
		Read: func(o *resultfile.Object, r *stated.Result) {
			o = withoutRecords(o)
			s := o.Summary(r.File)
			run := &export.Run{Experiments: make([]export.Experiment, 1), Meta: &export.RunMeta{}}
			summaryLoad(s, run)
			summaryServer(s, run)
			r.Release, r.Began = o.Text("aiperf_version"), o.Text("start_time")
			r.Model, r.URL = run.Meta.Model, run.Meta.URL
			if o.Text("was_cancelled") == "true" {
				r.Notes = append(r.Notes, "the run was cancelled")
			}
			if slices.ContainsFunc(o.Values, func(v resultfile.Value) bool { return strings.HasPrefix(v.Path, "telemetry_data.endpoints.") }) {
				r.Notes = append(r.Notes, "the telemetry of GPUs that the file also holds is not read; the CSV beside it has it as figures")
			}
			e := run.Experiments[0]
			r.Levels = append(r.Levels, stated.Level{Mode: e.Mode, Value: e.Value, Figures: resultfile.TaggedFigures(o)})
		},
	}
}

// isTable tells the CSV of AIPerf from the CSV of GenAI-Perf: it has sums, or writes "to" in lower case.
func isTable(content []byte) bool {
	header, _, _ := bytes.Cut(content, []byte("\n"))
	return bytes.Contains(header, []byte(",sum,")) || bytes.Contains(content, []byte("\nTime to First")) || bytes.Contains(content, []byte("(requests/sec)"))
}

// withoutRecords returns the object with the metrics at its top; early releases keep them in "records".
func withoutRecords(o *resultfile.Object) *resultfile.Object {
	if !o.Has("records.request_count.unit") {
		return o
	}
	inner := o.Under("records.")
	return resultfile.NewObject(append(inner.Values, o.Values...))
}
