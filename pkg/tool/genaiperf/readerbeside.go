package genaiperf

import "github.com/pa-tools/pa/pkg/tool/internal/resultfile"

// ResultFile describes the files that GenAI-Perf writes beside profile_export.json, which
// perf_analyzer writes for it.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Beside: []resultfile.Neighbour{
		{
			Is:   func(o *resultfile.Outline) bool { return o.HasElement("data", "payload") },
			What: "an input file of perf_analyzer or GenAI-Perf (inputs.json)", Holds: "what was to be sent", Give: "profile_export.json, from the same folder if it was GenAI-Perf",
		},
		{ // in every release an object of statistics with units
			Is: func(o *resultfile.Outline) bool {
				return !o.Array && o.HasInner("unit", "avg") && !o.Has("aiperf_version") && (o.Has("request_throughput") || o.Has("request_latency"))
			},
			What: "the report of GenAI-Perf", Holds: "statistics", Give: "the profile_export.json that it was made from, in the same folder",
		},
	}}
}
