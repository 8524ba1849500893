package aiperf

import (
	"bytes"
	"regexp"

	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

const giveRecords = "profile_export.jsonl or profile_export_raw.jsonl from the same folder"

// countInRequests matches the number of requests in a summary of AIPerf. GenAI-Perf gives it the unit
// "count".
var countInRequests = regexp.MustCompile(`"request_count"\s*:\s*\{\s*"unit"\s*:\s*"requests"`)

// filesBeside lists the files that AIPerf writes beside its records.
func filesBeside() []resultfile.Neighbour {
	return []resultfile.Neighbour{
		{
			Is:   func(o *resultfile.Outline) bool { return o.Has("aiperf_version", "metrics_phase") },
			What: "server_metrics_export.json of AIPerf", Holds: "the metrics of the server", Give: giveRecords,
		},
		{
			Is: func(o *resultfile.Outline) bool {
				return o.HasElement("timeslices", "start_ns") || o.HasElement("timeslices", "timeslice_index")
			},
			What: "profile_export_aiperf_timeslices.json of AIPerf", Holds: "statistics over slices of time", Give: giveRecords,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.HasElement("data", "session_id", "payloads") },
			What: "inputs.json of AIPerf", Holds: "what was sent", Give: giveRecords,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.HasElement("data", "session_num", "conversation_id") },
			What: "outputs.json of AIPerf", Holds: "texts without the times of their tokens", Give: giveRecords,
		},
		{
			Is: func(o *resultfile.Outline) bool {
				return o.Has("ready", "was_cancelled", "partial") || o.Only("processing")
			},
			What: "a marker of AIPerf (.aiperf_results_ready.json)", Holds: "whether a run is complete", Give: giveRecords,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.HasElement("phases", "phase_index") },
			What: "phase_manifest.json of AIPerf", Holds: "what the phases of a run wrote", Give: giveRecords,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.Has("timestamp_ns", "telemetry_data") },
			What: "gpu_telemetry_export.jsonl of AIPerf", Holds: "the telemetry of GPUs", Give: giveRecords,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.Has("endpoint_url", "timestamp_ns", "endpoint_latency_ns") },
			What: "server_metrics_export.jsonl of AIPerf", Holds: "the metrics of the server", Give: giveRecords,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.Has("timestamp_ns", "target_url", "rtt_ns") },
			What: "profile_export_network_latency.jsonl of AIPerf", Holds: "round trips of the network", Give: giveRecords,
		},
		{ // before 0.5 its version is behind the statistics, or missing
			Is:   func(o *resultfile.Outline) bool { return !o.Array && countInRequests.Match(o.Head) },
			What: "profile_export_aiperf.json of AIPerf", Holds: "statistics", Give: giveRecords,
		},
		{
			Is: func(o *resultfile.Outline) bool {
				return bytes.HasPrefix(o.Head, []byte("Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std"))
			},
			What: "profile_export_aiperf.csv of AIPerf", Holds: "statistics", Give: giveRecords,
		},
	}
}
