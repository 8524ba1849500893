package aiperf

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/numpy"
	"github.com/pa-tools/pa/internal/quantile"
)

// A Metric is a metric with its statistics.
type Metric struct {
	// Tag is the metric's name in JSON: "time_to_first_token".
	Tag string
	// Avg to P are NaN where there is no such statistic: of a number for the
	// whole run there is Avg only, of steps over time neither Sum nor Count.
	Count              int
	Avg, Min, Max, Std float64
	Sum                float64
	pct                [len(percentiles)]float64
}

// percentiles lists all percentiles that AIPerf computes.
var percentiles = [...]int{1, 5, 10, 25, 50, 75, 90, 95, 99}

// P returns a percentile that AIPerf knows: the 1st, 5th, 10th, 25th, 50th,
// 75th, 90th, 95th or 99th; NaN for any other.
func (m *Metric) P(pct int) float64 {
	if i := slices.Index(percentiles[:], pct); i >= 0 {
		return m.pct[i]
	}
	return math.NaN()
}

// none is a metric without statistics.
func none(tag string) Metric {
	nan := math.NaN()
	m := Metric{Tag: tag, Avg: nan, Min: nan, Max: nan, Std: nan, Sum: nan}
	for i := range m.pct {
		m.pct[i] = nan
	}
	return m
}

// single is a number for the whole run.
func single(tag string, v float64) Metric {
	m := none(tag)
	m.Avg = v
	return m
}

// spread returns the statistics of x, which is sorted thereby, times scale. x
// must not be empty. The deviation is added up in order of size, the mean in
// that of the requests: the last digits tell.
func spread[T int64 | float64](tag string, x []T, scale float64) Metric {
	m := Metric{Tag: tag, Count: len(x)}
	m.Avg = numpy.Mean(numpy.Current, x) * scale
	m.Sum = numpy.Sum(numpy.Current, x) * scale
	slices.Sort(x)
	m.Std = numpy.Std(numpy.Current, x) * scale
	m.Min, m.Max = float64(x[0])*scale, float64(x[len(x)-1])*scale
	for i, pct := range percentiles {
		m.pct[i] = quantile.At(x, float64(pct)/100) * scale // numpy's percentile, but for the last digit from the middle on
	}
	return m
}

// adjusted returns the statistics of x with as many infinite values more: the
// values nearest to the percentiles, of two the one with the even rank, and the
// smallest. x must be sorted and not empty.
func adjusted[T int64 | float64](tag string, x []T, infinite int, scale float64) Metric {
	m := none(tag)
	m.Count = len(x) + infinite
	m.Min = float64(x[0]) * scale
	for i, pct := range percentiles {
		if k := int(math.RoundToEven(float64(m.Count-1) * (float64(pct) / 100))); k < len(x) {
			m.pct[i] = float64(x[k]) * scale
		}
	}
	return m
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

// A column describes how the reports print a metric.
type column struct {
	tag, header, unit string
	group             group
}

// columns are all metrics, in the order of the console. Those that it does not
// show are last.
var columns = []column{
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
	{"usage_total_tokens", "Usage Total Tokens", "tokens", usageGroup},
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
	{"inter_chunk_latency", "Inter Chunk Latency", "ms", noGroup},
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
}

// The tags that are named more than once.
const (
	firstToken     = "time_to_first_token"
	secondToken    = "time_to_second_token"
	interToken     = "inter_token_latency"
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

// describe returns the column of a tag.
func describe(tag string) *column {
	i := slices.IndexFunc(columns, func(c column) bool { return c.tag == tag })
	return &columns[i]
}
