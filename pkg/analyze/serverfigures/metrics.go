package serverfigures

import (
	"strings"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A serverMetric is a quantity of the report with its names in the sources.
type serverMetric struct {
	name string
	unit string
	// metrics holds the sources' names; {label=value} selects the series with the label.
	metrics []string
	// scale multiplies the source's number; 0 means 1.
	scale float64
	// counts holds a count's name for each name in metrics, for times whose sum and count
	// have different names; nil means the count of the histogram or summary.
	counts []string
	// client is the client's metric of the same quantity; nil if it has none.
	client *answer.Metric
	// smooth: the counter grows all the time, so that its values lie on the line between
	// two scrapes.
	smooth bool
	// spare: the figure is shown only if ModelStatistics lack it.
	spare bool
}

// Names of figures that energies are made of.
const (
	gpuEnergyName = "GPU energy"
	gpuPower      = "GPU power"
)

// The known metrics in the order of the report. Their names are from the source code of
// vLLM (v1/metrics), SGLang (srt/observability/metrics_collector.py; since 2026 some have
// a label is_streaming), TensorRT-LLM (tensorrt_llm/metrics/collector.py, which
// trtllm-serve serves under /prometheus/metrics; its README for Triton's nv_trt_llm_*),
// TGI (router/src/server.rs, seconds) and DCGM's exporter (etc/default-counters.csv);
// from the answers of llama.cpp and Triton, and from perf_analyzer for Triton's GPUs.
var (
	// serverTimes are histograms or summaries of seconds, unless scaled.
	serverTimes = []serverMetric{
		{name: "time to first token", client: new(answer.TTFT), metrics: []string{"vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds", "trtllm_time_to_first_token_seconds"}},
		{name: "request", client: new(answer.E2EL), metrics: []string{"vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds", "trtllm_e2e_request_latency_seconds", "tgi_request_duration"}},
		{name: "request", client: new(answer.E2EL), spare: true, scale: 1e3, metrics: []string{"nv_inference_request_duration_us"}, counts: []string{"nv_inference_request_success"}},
		{name: "queue", metrics: []string{"vllm:request_queue_time_seconds", "sglang:queue_time_seconds", "trtllm_request_queue_time_seconds", "tgi_request_queue_duration"}},
		{name: "queue", spare: true, scale: 1e3, metrics: []string{"nv_inference_queue_duration_us"}, counts: []string{"nv_inference_request_success"}},
		{name: "prefill", metrics: []string{"vllm:request_prefill_time_seconds", "trtllm_request_prefill_time_seconds"}},
		{name: "decode", metrics: []string{"vllm:request_decode_time_seconds", "trtllm_request_decode_time_seconds"}},
		{name: "inference", metrics: []string{"vllm:request_inference_time_seconds", "trtllm_request_inference_time_seconds", "tgi_request_inference_duration"}},
		{name: "inter-token latency", client: new(answer.ITL), metrics: []string{"vllm:inter_token_latency_seconds", "sglang:inter_token_latency_seconds"}},
		{name: "time per output token", client: new(answer.TPOT), metrics: []string{"vllm:request_time_per_output_token_seconds", "trtllm_time_per_output_token_seconds", "tgi_request_mean_time_per_token_duration"}},
	}
	serverCounters = []serverMetric{
		{name: "requests", unit: "count", metrics: []string{"vllm:request_success_total", "sglang:num_requests_total", "trtllm_request_success_total", "tgi_request_success"}},
		{name: "requests", unit: "count", spare: true, metrics: []string{"nv_inference_request_success"}},
		{name: "input tokens", unit: "count", metrics: []string{"vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "trtllm_prompt_tokens_total", "llamacpp:prompt_tokens_total"}},
		{name: "output tokens", unit: "count", metrics: []string{"vllm:generation_tokens_total", "sglang:generation_tokens_total", "trtllm_generation_tokens_total", "llamacpp:tokens_predicted_total", "tgi_request_generated_tokens_sum"}},
		{name: "prefill", unit: "ns", scale: 1e9, metrics: []string{"llamacpp:prompt_seconds_total"}},
		{name: "decode", unit: "ns", scale: 1e9, metrics: []string{"llamacpp:tokens_predicted_seconds_total"}},
		{name: gpuEnergyName, unit: "J", smooth: true, metrics: []string{"nv_energy_consumption"}},
		{name: gpuEnergyName, unit: "J", smooth: true, scale: 1e-3, metrics: []string{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}},
	}
	serverGauges = []serverMetric{
		{name: "running requests", unit: "count", metrics: []string{"vllm:num_requests_running", "sglang:num_running_reqs", "trtllm_num_requests_running", "nv_trt_llm_request_metrics{request_type=scheduled}", "tgi_batch_current_size", "llamacpp:requests_processing"}},
		{name: "waiting requests", unit: "count", metrics: []string{"vllm:num_requests_waiting", "sglang:num_queue_reqs", "trtllm_num_requests_waiting", "nv_trt_llm_request_metrics{request_type=waiting}", "tgi_queue_size", "llamacpp:requests_deferred"}},
		{name: "KV cache usage", unit: "ratio", metrics: []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "trtllm_kv_cache_utilization", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}", "llamacpp:kv_cache_usage_ratio"}},
		{name: "GPU utilization", unit: "ratio", metrics: []string{"nv_gpu_utilization"}},
		{name: "GPU utilization", unit: "ratio", scale: 0.01, metrics: []string{"DCGM_FI_DEV_GPU_UTIL", "nvidia_smi_utilization_gpu"}},
		{name: gpuPower, unit: "W", metrics: []string{"nv_gpu_power_usage", "DCGM_FI_DEV_POWER_USAGE", "nvidia_smi_power_draw"}},
		{name: "GPU memory used", unit: "bytes", metrics: []string{"nv_gpu_memory_used_bytes"}},
		{name: "GPU memory used", unit: "bytes", scale: 1 << 20, metrics: []string{"DCGM_FI_DEV_FB_USED", "nvidia_smi_memory_used"}},
	}
)

// scaled applies the scale to a number of the source.
func (m *serverMetric) scaled(v float64) float64 {
	if m.scale == 0 {
		return v
	}
	return v * m.scale
}

// A seriesPart is the part that a series plays in a metric.
type seriesPart int

const (
	partGauge seriesPart = iota + 1
	partCounter
	partSum   // of times
	partCount // of times
)

// A seriesRole is a part of a metric that a series plays.
type seriesRole struct {
	part   seriesPart
	metric *serverMetric
	// of is the name of the metric that the series belongs to.
	of string
}

// rolesOf returns the roles of a series; nil if its name is not known. A counter may
// also be the count of a time.
func rolesOf(s *export.Series) (roles []seriesRole) {
	for i := range serverTimes {
		m := &serverTimes[i]
		for k, name := range m.metrics {
			sum, count := name+"_sum", name+"_count"
			if m.counts != nil {
				sum, count = name, m.counts[k]
			}
			switch s.Name {
			case sum:
				roles = append(roles, seriesRole{partSum, m, name})
			case count:
				roles = append(roles, seriesRole{partCount, m, name})
			}
		}
	}
	return append(append(roles, rolesAmong(serverCounters, partCounter, s)...), rolesAmong(serverGauges, partGauge, s)...)
}

func rolesAmong(metrics []serverMetric, part seriesPart, s *export.Series) (roles []seriesRole) {
	for i := range metrics {
		for _, name := range metrics[i].metrics {
			if picks(name, s) {
				roles = append(roles, seriesRole{part, &metrics[i], name})
			}
		}
	}
	return roles
}

// picks reports whether a name of a metric, with or without a label, means s.
func picks(metric string, s *export.Series) bool {
	name, label, labelled := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
	if name != s.Name {
		return false
	}
	key, value, _ := strings.Cut(label, "=")
	return !labelled || s.Label(key) == value
}
