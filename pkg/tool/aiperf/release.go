package aiperf

// A release holds the facts of one release of AIPerf: names, units, order and limits.
type release struct {
	version string // aiperf_version in the JSON report
	schema  string // schema_version in the JSON report

	// columns describes all metrics, in the order of the console. Metrics that the
	// console leaves out are last. places holds their indices by tag.
	columns []column
	places  map[string]int
	// jsonFirst holds the tags that come first in the JSON report. AIPerf changes the
	// order of the others from run to run; they follow in the order of columns.
	jsonFirst []string
	// recordTags holds the metrics of a line of profile_export.jsonl in the order of one
	// run of AIPerf, which changes from run to run.
	recordTags []string
	// consoleStats and csvStats are the statistics that the tables show.
	consoleStats, csvStats []string
	// largerIsBetter holds the metrics for which a goodput limit is the least value.
	largerIsBetter []string
	// steps lists the effective and active metrics.
	steps []stepMetric

	// AIPerf warns if the server's token count differs by more than usagePct percent from
	// its own. It warns if an answer differs from the requested length by more than
	// mismatchPct percent of that length or mismatchTokens tokens, whichever is less.
	usagePct, mismatchPct, mismatchTokens int

	// maxHeader is the longest name that has its unit on the same line of the console.
	maxHeader int
	// incomplete is the reason that AIPerf states for a cancelled run.
	incomplete string
	// cacheHint is printed if the server reports token usage without cached tokens.
	cacheHint string
}

// stepPercentiles lists the percentiles of the effective and active metrics.
var stepPercentiles = []int{50, 90, 95, 99}

// releases holds the known releases, oldest first. The dialect "aiperf" is the last one.
var releases = withPlaces([]*release{{
	version: "0.13.0",
	schema:  "1.4",
	columns: []column{
		{"effective_concurrency", "Effective Concurrency", "requests", effectiveGroup},
		{"effective_decode_throughput", "Effective Decode Throughput", "tokens/sec", effectiveGroup},
		{"effective_prefill_throughput", "Effective Prefill Throughput", "tokens/sec", effectiveGroup},
		{"effective_decode_concurrency", "Effective Decode Concurrency", "requests", effectiveGroup},
		{"effective_prefill_concurrency", "Effective Prefill Concurrency", "requests", effectiveGroup},
		{"effective_total_throughput", "Effective Total Throughput", "tokens/sec", effectiveGroup},
		{"effective_decode_throughput_per_user", "Effective Decode Throughput Per User", "tokens/sec/user", effectiveGroup},
		{"effective_prefill_throughput_per_user", "Effective Prefill Throughput Per User", "tokens/sec/user", effectiveGroup},
		{"tokens_in_flight", "Tokens In Flight", "tokens", effectiveGroup},
		{"active_decode_throughput", "Active Decode Throughput", "tokens/sec", activeGroup},
		{"active_prefill_throughput", "Active Prefill Throughput", "tokens/sec", activeGroup},
		{"active_decode_throughput_per_user", "Active Decode Throughput Per User", "tokens/sec/user", activeGroup},
		{"active_prefill_throughput_per_user", "Active Prefill Throughput Per User", "tokens/sec/user", activeGroup},
		{"active_total_throughput", "Active Total Throughput", "tokens/sec", activeGroup},
		{"credit_to_start_latency", "Credit-to-Start Latency", "ms", noGroup},
		{"effective_latency", "Effective Latency (CO-aware)", "ms", effectiveGroup},
		{"usage_prompt_tokens", "Usage Prompt Tokens", "tokens", usageGroup},
		{cacheRead, "Usage Prompt Cache Read Tokens", "tokens", usageGroup},
		{"usage_completion_tokens", "Usage Completion Tokens", "tokens", usageGroup},
		{"usage_reasoning_tokens", "Usage Reasoning Tokens", "tokens", usageGroup},
		{usageTotal, "Usage Total Tokens", "tokens", usageGroup},
		{"total_usage_prompt_tokens", "Total Usage Prompt Tokens", "tokens", usageGroup},
		{"total_usage_prompt_cache_read_tokens", "Total Usage Prompt Cache Read Tokens", "tokens", usageGroup},
		{"overall_usage_prompt_cache_read_pct", "Overall Usage Prompt Cache Read %", "%", usageGroup},
		{"total_usage_completion_tokens", "Total Usage Completion Tokens", "tokens", usageGroup},
		{"total_usage_reasoning_tokens", "Total Usage Reasoning Tokens", "tokens", usageGroup},
		{"total_usage_total_tokens", "Total Usage Total Tokens", "tokens", usageGroup},
		{firstToken, "Time to First Token", "ms", mainGroup},
		{secondToken, "Time to Second Token", "ms", mainGroup},
		{"time_to_first_output_token", "Time to First Output Token", "ms", mainGroup},
		{requestLatency, "Request Latency", "ms", mainGroup},
		{"decode_duration", "Decode Duration", "ms", mainGroup},
		{interToken, "Inter Token Latency", "ms", mainGroup},
		{perUser, "Output Token Throughput Per User", "tokens/sec/user", mainGroup},
		{"e2e_output_token_throughput", "E2E Output Token Throughput", "tokens/sec/user", mainGroup},
		{outputLength, "Output Sequence Length", "tokens", mainGroup},
		{inputLength, "Input Sequence Length", "tokens", mainGroup},
		{outputRate, "Output Token Throughput", "tokens/sec", mainGroup},
		{"input_token_throughput", "Input Token Throughput", "tokens/sec", mainGroup},
		{requestRate, "Request Throughput", "requests/sec", mainGroup},
		{goodput, "Goodput", "requests/sec", mainGroup},
		{"completed_request_count", "Completed Requests (Success + Error)", "requests", mainGroup},
		{"request_error_rate", "Request Error Rate", "%", mainGroup},
		{requestCount, "Request Count", "requests", mainGroup},
		{"adj_request_latency", "Request Latency (error-adjusted)", "ms", mainGroup},
		{"adj_time_to_first_token", "Time to First Token (error-adjusted)", "ms", mainGroup},
		{"adj_decode_duration", "Decode Duration (error-adjusted)", "ms", mainGroup},
		{"adj_inter_token_latency", "Inter Token Latency (error-adjusted)", "ms", mainGroup},
		{"benchmark_duration", "Benchmark Duration", "sec", noGroup},
		{"context_overflow_count", "Context Overflow Count", "requests", noGroup},
		{"error_isl", "Error Input Sequence Length", "tokens", noGroup},
		{"error_request_count", "Error Request Count", "requests", noGroup},
		{goodCount, "Good Request Count", "requests", noGroup},
		{"good_request_fraction", "GoodRequestFraction", "ratio", noGroup},
		{"http_req_blocked", "HTTP Blocked", "ms", noGroup},
		{"http_req_chunks_received", "HTTP Chunks Received", "count", noGroup},
		{"http_req_chunks_sent", "HTTP Chunks Sent", "count", noGroup},
		{"http_req_connecting", "HTTP Connecting", "ms", noGroup},
		{"http_req_connection_overhead", "HTTP Connection Overhead", "ms", noGroup},
		{"http_req_connection_reused", "HTTP Connection Reused", "ratio", noGroup},
		{"http_req_data_received", "HTTP Data Received", "KB", noGroup},
		{"http_req_data_sent", "HTTP Data Sent", "KB", noGroup},
		{"http_req_dns_lookup", "HTTP DNS Lookup", "ms", noGroup},
		{"http_req_duration", "HTTP Duration (excl. conn)", "ms", noGroup},
		{"http_req_receiving", "HTTP Receiving", "ms", noGroup},
		{"http_req_sending", "HTTP Sending", "ms", noGroup},
		{"http_req_total", "HTTP Total Time", "ms", noGroup},
		{"http_req_waiting", "HTTP Waiting (TTFB)", "ms", noGroup},
		{chunkGap, "Inter Chunk Latency", "ms", noGroup},
		{"osl_mismatch_count", "OSL Mismatch Count", "requests", noGroup},
		{"osl_mismatch_diff_pct", "OSL Mismatch Diff %", "%", noGroup},
		{"output_token_count", "Output Token Count", "tokens", noGroup},
		{"prefill_throughput_per_user", "Prefill Throughput Per User", "tokens/sec/user", noGroup},
		{"reasoning_token_count", "Reasoning Token Count", "tokens", noGroup},
		{"total_error_isl", "Total Error Input Sequence Length", "tokens", noGroup},
		{"total_isl", "Total Input Sequence Length", "tokens", noGroup},
		{"total_osl", "Total Output Sequence Length", "tokens", noGroup},
		{"total_output_tokens", "Total Output Tokens", "tokens", noGroup},
		{"total_reasoning_tokens", "Total Reasoning Tokens", "tokens", noGroup},
		{totalRate, "Total Token Throughput", "tokens/sec", noGroup},
		{completionDiff, "Usage Completion Diff %", "%", noGroup},
		{"usage_discrepancy_count", "Usage Discrepancy Count", "requests", noGroup},
		{promptDiff, "Usage Prompt Diff %", "%", noGroup},
		{"usage_reasoning_tokens_diff_pct", "Usage Reasoning Diff %", "%", noGroup},
	},
	jsonFirst: []string{
		requestRate, requestLatency, requestCount, firstToken, secondToken, interToken, outputRate, perUser, outputLength,
		inputLength, goodput, goodCount, "output_token_count", "reasoning_token_count", chunkGap, "total_output_tokens",
		"total_reasoning_tokens", "benchmark_duration", "total_isl", "total_osl", "error_request_count", "error_isl", "total_error_isl",
	},
	recordTags: []string{
		firstToken, inputLength, secondToken, "http_req_connection_reused", "http_req_connecting", requestLatency,
		"http_req_dns_lookup", outputLength, usageTotal, "usage_prompt_tokens", "output_token_count",
		"reasoning_token_count", "usage_reasoning_tokens", cacheRead, "time_to_first_output_token", chunkGap,
		"usage_completion_tokens", "prefill_throughput_per_user", "decode_duration", "osl_mismatch_diff_pct", interToken,
		"e2e_output_token_throughput", perUser,
	},
	consoleStats: []string{"avg", "min", "max", "p99", "p90", "p50", "std"},
	csvStats:     []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"},
	largerIsBetter: []string{
		"e2e_output_token_throughput", perUser, "prefill_throughput_per_user", outputLength, inputLength, "output_token_count",
		"reasoning_token_count", "usage_prompt_tokens", "usage_completion_tokens", usageTotal, "usage_reasoning_tokens", cacheRead,
	},
	steps: []stepMetric{
		{tag: "effective_concurrency", of: requests, per: sums, active: sums},
		{tag: "effective_decode_throughput", of: decode, per: sums, active: sums},
		{tag: "effective_prefill_throughput", of: prefill, per: sums, active: sums},
		{tag: "effective_decode_concurrency", of: decoding, per: sums, active: sums},
		{tag: "effective_prefill_concurrency", of: prefilling, per: sums, active: sums},
		{tag: "effective_total_throughput", of: total, per: sums, active: sums},
		{tag: "effective_decode_throughput_per_user", of: decode, per: decoding, active: sums},
		{tag: "effective_prefill_throughput_per_user", of: prefill, per: prefilling, active: sums},
		{tag: "tokens_in_flight", of: inFlight, per: sums, active: sums},
		{tag: "active_decode_throughput", of: decode, per: sums, active: decoding},
		{tag: "active_prefill_throughput", of: prefill, per: sums, active: prefilling},
		{tag: "active_decode_throughput_per_user", of: decode, per: decoding, active: decoding},
		{tag: "active_prefill_throughput_per_user", of: prefill, per: prefilling, active: prefilling},
		{tag: "active_total_throughput", of: total, per: sums, active: requests},
	},
	usagePct:       10,
	mismatchPct:    5,
	mismatchTokens: 50,
	maxHeader:      30,
	incomplete:     "Run cancelled before all records were processed.",
	cacheHint:      "Token usage is reported but no prompt-cache read tokens were seen (usage.prompt_tokens_details.cached_tokens absent). If your server uses prefix/KV caching, enable cache reporting so AIPerf can populate the prompt-cache metrics: vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report (TRT-LLM reports it by default).",
}})

// withPlaces sets release.places.
func withPlaces(all []*release) []*release {
	for _, r := range all {
		r.places = map[string]int{}
		for i := range r.columns {
			r.places[r.columns[i].tag] = i
		}
	}
	return all
}

// A stepMetric is a metric of steps over time: a sum, divided by another one or not.
type stepMetric struct {
	tag     string
	of, per quantity // per is sums if nothing divides the metric
	// active is the sum that must not be 0 for the time to count; sums: all time counts.
	active quantity
}

// column returns the column of a tag; nil if the release has no such metric.
func (r *release) column(tag string) *column {
	if i, ok := r.places[tag]; ok {
		return &r.columns[i]
	}
	return nil
}

// A column describes how the reports print a metric.
type column struct {
	tag, header, unit string
	group             group
}

// scale converts a measured value to the unit of the column: nanoseconds to
// milliseconds, bytes to kilobytes.
func (c *column) scale() float64 {
	switch c.unit {
	case "ms":
		return 1e-6
	case "KB":
		return 1.0 / 1024
	}
	return 1
}

// A group names the console table that shows a metric.
type group uint8

const (
	noGroup group = iota
	mainGroup
	effectiveGroup
	activeGroup
	usageGroup
)

// The tags that are named more than once.
const (
	firstToken     = "time_to_first_token"
	secondToken    = "time_to_second_token"
	chunkGap       = "inter_chunk_latency"
	interToken     = "inter_token_latency"
	usageTotal     = "usage_total_tokens"
	requestLatency = "request_latency"
	outputLength   = "output_sequence_length"
	inputLength    = "input_sequence_length"
	requestCount   = "request_count"
	requestRate    = "request_throughput"
	outputRate     = "output_token_throughput"
	totalRate      = "total_token_throughput"
	perUser        = "output_token_throughput_per_user"
	goodput        = "goodput"
	goodCount      = "good_request_count"
	cacheRead      = "usage_prompt_cache_read_tokens"
	promptDiff     = "usage_prompt_tokens_diff_pct"
	completionDiff = "usage_completion_tokens_diff_pct"
)
