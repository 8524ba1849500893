package guidellm

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// family is the name of the tool.
const family = "guidellm"

// omits lists the parts of a run that the file does not hold.
const omits = "the times between the first and the last token, what the single events held, warmup, telemetry, where a time was taken, and how a request failed beside the message"

// A release holds the facts of one release of GuideLLM: names, their order, and limits.
type release struct {
	version string // guidellm_version in the file
	report  int    // version of the file's format

	// metrics lists the metrics of a benchmark, turnMetrics the metrics of one place in the
	// conversations; both in the order of the file.
	metrics, turnMetrics []metric
	// percentiles must hold the share 0.5, which is also the median.
	percentiles []percentile
	// closeSeconds is the distance up to which events count as one.
	closeSeconds float64
	// epsilon is the least total of weights, and the least duration in seconds.
	epsilon float64

	// Members of the objects of these names. Members that a recording has no value for are null.
	spec, specMetrics, backend, benchmark, schedulerState, progress []string
	// noQuantities lists the members of a request's input and output that are always null.
	noQuantities []string
}

// A metric is a member of the metrics of a benchmark.
type metric struct {
	name  string
	value func(*benchmark) any
}

type percentile struct {
	name  string
	share float64
}

// releases holds the known releases, oldest first. The tool "guidellm" is the last one.
var releases = []*release{{
	version: "0.8.1",
	report:  2,
	metrics: []metric{
		{"request_totals", func(b *benchmark) any { return b.counts() }},
		{"requests_per_second", func(b *benchmark) any { return b.rates(requestEnd) }},
		{"request_concurrency", func(b *benchmark) any { return b.concurrencies(duration) }},
		{"request_latency", func(b *benchmark) any { return b.values((*requestStat).latency) }},
		{"request_dispatch_delay", func(b *benchmark) any { return b.ofSchedule((*requestStat).delay) }},
		{"request_scheduled_latency", func(b *benchmark) any { return b.ofSchedule((*requestStat).scheduledLatency) }},
		{"turn_predecessor_delay", func(b *benchmark) any { return b.ofSchedule((*requestStat).noDelay) }},
		{"turn_scheduling_delay", func(b *benchmark) any { return b.ofSchedule((*requestStat).delay) }},
		{"root_dispatch_delay", (*benchmark).rootDelay},
		{"request_streaming_iterations_count", (*benchmark).iterations},
		{"prompt_token_count", func(b *benchmark) any { return b.values(promptTokens) }},
		{"output_token_count", func(b *benchmark) any { return b.values(outputTokens) }},
		{"total_token_count", func(b *benchmark) any { return b.values((*requestStat).total) }},
		{"time_to_first_token_ms", func(b *benchmark) any { return b.known((*requestStat).ttft) }},
		{"time_to_first_output_token_ms", func(b *benchmark) any { return b.known((*requestStat).firstOutputTime) }},
		{"time_per_output_token_ms", func(b *benchmark) any { return b.points(timePerToken) }},
		{"inter_token_latency_ms", func(b *benchmark) any { return b.points(interTokens) }},
		{"time_to_last_round_trip_ms", func(b *benchmark) any { return b.values(zero) }}, // websockets only
		{"avg_round_trip_time_ms", func(b *benchmark) any { return b.values(zero) }},     // websockets only
		{"prompt_tokens_per_second", func(b *benchmark) any { return b.rates((*requestStat).promptEvent) }},
		{"output_tokens_per_second", func(b *benchmark) any { return b.rates((*requestStat).tokens) }},
		{"tokens_per_second", func(b *benchmark) any { return b.rates((*requestStat).allTokens) }},
		{"output_tokens_per_iteration", func(b *benchmark) any { return b.weights((*requestStat).tokens) }},
		{"iter_tokens_per_iteration", func(b *benchmark) any { return b.weights((*requestStat).laterTokens) }},
		{"text", (*benchmark).text},
		{"image", func(b *benchmark) any { return b.noSummaries("tokens images pixels bytes") }},
		{"video", func(b *benchmark) any { return b.noSummaries("tokens frames seconds bytes") }},
		{"audio", func(b *benchmark) any { return b.noSummaries("tokens samples seconds bytes") }},
		{"tool_call", func(b *benchmark) any { return b.noSummaries("tokens mixed_tokens count") }},
		{"turns", (*benchmark).turns},
		{"slo_attainment", func(*benchmark) any { return nil }},
		{"slo_determined_requests", func(*benchmark) any { return 0 }},
		{"request_goodput", func(*benchmark) any { return nil }},
	},
	turnMetrics: []metric{
		{"request_totals", func(b *benchmark) any { return b.counts() }},
		{"request_latency", func(b *benchmark) any { return b.values((*requestStat).latency) }},
		{"prompt_token_count", func(b *benchmark) any { return b.values(promptTokens) }},
		{"time_to_first_token_ms", func(b *benchmark) any { return b.known((*requestStat).ttft) }},
		{"inter_token_latency_ms", func(b *benchmark) any { return b.points(interTokens) }},
	},
	percentiles: []percentile{
		{"p001", 0.001},
		{"p01", 0.01},
		{"p05", 0.05},
		{"p10", 0.1},
		{"p25", 0.25},
		{"p50", 0.5},
		{"p75", 0.75},
		{"p90", 0.9},
		{"p95", 0.95},
		{"p99", 0.99},
		{"p999", 0.999},
	},
	closeSeconds: 1e-4,
	epsilon:      1e-6,
	spec:         strings.Fields("backend profile constraints tokenizer data data_column_mapper data_preprocessors data_finalizer data_loader seed outputs metrics"),
	specMetrics:  strings.Fields("kind warnings sample_size prefer_response_metrics confidence slo"),
	backend: strings.Fields("kind target model request_format api_key api_routes timeout timeout_connect http2 follow_redirects verify validate_backend " +
		"stream extras max_tokens server_history tool_call_missing_behavior multiturn_reasoning"),
	benchmark: strings.Fields("id_ run_id run_index strategy constraints sample_size warmup cooldown prefer_response_metrics slo confidence warnings profile requests backend environment"),
	schedulerState: strings.Fields("node_id num_processes start_time end_time start_requests_time end_requests_time end_queuing_time end_queuing_constraints " +
		"end_processing_time end_processing_constraints scheduler_constraints progress created_requests queued_requests pending_requests " +
		"processing_requests processed_requests successful_requests errored_requests cancelled_requests"),
	progress: strings.Fields("remaining_requests total_requests remaining_duration total_duration stop_time"),
	noQuantities: strings.Fields("image_tokens image_count image_pixels image_bytes video_tokens video_frames video_seconds video_bytes " +
		"audio_tokens audio_samples audio_seconds audio_bytes tool_call_tokens mixed_content_tool_tokens tool_call_count"),
}}

// Tools returns the known releases as tools that print no report.
func Tools() []*dialect.Tool {
	var all []*dialect.Tool
	for i, r := range releases {
		name := dialect.ReleaseName(family, r.version, i, len(releases))
		all = append(all, &dialect.Tool{
			Name: name, Family: family, Options: dialect.LanguageOptions(),
			Result: &dialect.ResultFile{Omits: omits, Listed: name, Ending: ".json", Write: r.writeResult},
		})
	}
	return all
}

func (r *release) writeResult(ctx context.Context, in export.Reader, cfg dialect.Config, _ string, out io.Writer) (_ *dialect.Written, err error) {
	if len(cfg.Args) > 0 {
		return nil, &dialect.ArgError{Msg: "a result of GuideLLM depends on no argument; drop it"}
	}
	w := newWriter(r, in.Run())
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.readAll(ctx, in); err != nil {
		return nil, err
	}
	return &dialect.Written{Warnings: w.warnings()}, w.write(out)
}
