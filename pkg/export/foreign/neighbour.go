package foreign

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/pa-tools/pa/pkg/export"
)

// A neighbour is a kind of file that a tool writes beside its file of requests, and that
// users can name by mistake.
type neighbour struct {
	is func(*outline) bool
	// its kind and contents, and the file to give instead.
	what, holds, give string
}

const giveEvents = "events.jsonl from the folder of the report"

const giveRecords = "profile_export.jsonl or profile_export_raw.jsonl from the same folder"

// aiperfCount matches the number of requests in a summary of AIPerf. GenAI-Perf gives it the unit
// "count".
var aiperfCount = regexp.MustCompile(`"request_count"\s*:\s*\{\s*"unit"\s*:\s*"requests"`)

// neighbours lists these kinds in the order in which neighbourOf tries them.
var neighbours = []neighbour{
	{
		func(o *outline) bool { return o.has("aiperf_version", "metrics_phase") },
		"server_metrics_export.json of AIPerf", "the metrics of the server", giveRecords,
	},
	{
		func(o *outline) bool {
			return o.hasElement("timeslices", "start_ns") || o.hasElement("timeslices", "timeslice_index")
		},
		"profile_export_aiperf_timeslices.json of AIPerf", "statistics over slices of time", giveRecords,
	},
	{
		func(o *outline) bool { return o.hasElement("data", "session_id", "payloads") },
		"inputs.json of AIPerf", "what was sent", giveRecords,
	},
	{
		func(o *outline) bool { return o.hasElement("data", "payload") },
		"an input file of perf_analyzer or GenAI-Perf (inputs.json)", "what was to be sent", "profile_export.json, from the same folder if it was GenAI-Perf",
	},
	{
		func(o *outline) bool { return o.hasElement("data", "session_num", "conversation_id") },
		"outputs.json of AIPerf", "texts without the times of their tokens", giveRecords,
	},
	{
		func(o *outline) bool { return o.has("ready", "was_cancelled", "partial") || o.only("processing") },
		"a marker of AIPerf (.aiperf_results_ready.json)", "whether a run is complete", giveRecords,
	},
	{
		func(o *outline) bool { return o.hasElement("phases", "phase_index") },
		"phase_manifest.json of AIPerf", "what the phases of a run wrote", giveRecords,
	},
	{
		func(o *outline) bool { return o.has("timestamp_ns", "telemetry_data") },
		"gpu_telemetry_export.jsonl of AIPerf", "the telemetry of GPUs", giveRecords,
	},
	{
		func(o *outline) bool { return o.has("endpoint_url", "timestamp_ns", "endpoint_latency_ns") },
		"server_metrics_export.jsonl of AIPerf", "the metrics of the server", giveRecords,
	},
	{
		func(o *outline) bool { return o.has("timestamp_ns", "target_url", "rtt_ns") },
		"profile_export_network_latency.jsonl of AIPerf", "round trips of the network", giveRecords,
	},
	{ // before 0.5 its version is behind the statistics, or missing
		func(o *outline) bool { return !o.array && aiperfCount.Match(o.head) },
		"profile_export_aiperf.json of AIPerf", "statistics", giveRecords,
	},
	{ // in every release an object of statistics with units
		func(o *outline) bool {
			return !o.array && o.hasInner("unit", "avg") && !o.has("aiperf_version") && (o.has("request_throughput") || o.has("request_latency"))
		},
		"the report of GenAI-Perf", "statistics", "the profile_export.json that it was made from, in the same folder",
	},
	{
		func(o *outline) bool {
			return bytes.HasPrefix(o.head, []byte("Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std"))
		},
		"profile_export_aiperf.csv of AIPerf", "statistics", giveRecords,
	},
	{
		func(o *outline) bool { return o.has("test_started_at", "n_samples_issued") },
		"result_summary.json of mlcommons/endpoints", "statistics", giveEvents,
	},
	{
		func(o *outline) bool { return bytes.HasPrefix(o.head, []byte("----------------- Summary ---")) },
		"report.txt of mlcommons/endpoints", "statistics", giveEvents,
	},
	{
		func(o *outline) bool { return o.only("performance") && !o.array },
		"sample_idx_map.json of mlcommons/endpoints", "which row of the data set was sent", giveEvents,
	},
	{
		func(o *outline) bool {
			return o.first == "global" && o.has("global", "reports") && o.hasInner("warnings", "errors")
		},
		"validation.json of inference-perf", "what it found wrong with its reports", "per_request_lifecycle_metrics.json from the same folder",
	},
}

// neighbourOf returns the kind of neighbour that a file is; nil for none.
func neighbourOf(o *outline) *neighbour {
	for i := range neighbours {
		if neighbours[i].is(o) {
			return &neighbours[i]
		}
	}
	return nil
}

func sniffNeighbour(o *outline) bool { return neighbourOf(o) != nil }

// openNeighbour refuses the file.
func openNeighbour(f *file) (*export.Run, source, error) {
	head := make([]byte, min(f.size, 4<<10))
	if _, err := f.src.ReadAt(head, 0); err != nil && int64(len(head)) != f.size {
		return nil, nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	n := neighbourOf(outlineOf(head))
	if n == nil {
		return nil, nil, fmt.Errorf("%s: changed while it was opened; try again", f.name)
	}
	return nil, nil, fmt.Errorf("%s: is %s, which holds %s and no requests; give %s", f.name, n.what, n.holds, n.give)
}
