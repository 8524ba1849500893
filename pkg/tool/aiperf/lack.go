package aiperf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// needs lists the metrics that have no values if the run lacks a part. A tag that ends in
// "*" names all metrics that begin with the text before it.
var needs = []struct {
	part export.Part
	tags []string
}{
	{export.PartGaps, []string{
		secondToken, "inter_chunk_latency", "effective_decode_throughput*", "active_decode_throughput*", "tokens_in_flight",
	}},
	{export.PartLast, []string{
		requestLatency, "decode_duration", interToken, perUser, "e2e_output_token_throughput", "adj_request_latency",
		"adj_decode_duration", "adj_inter_token_latency", "effective_*", "active_*", "tokens_in_flight", "benchmark_duration",
		requestRate, outputRate, totalRate, "input_token_throughput",
	}},
	{export.PartStarts, []string{
		"credit_to_start_latency", "effective_*", "active_*", "tokens_in_flight", "benchmark_duration", requestRate, outputRate,
		totalRate, "input_token_throughput",
	}},
}

// dropLacking removes the metrics that the file lacks data for, with a warning.
func (r *Report) dropLacking(run *export.Run) {
	for _, n := range needs {
		why, lacks := run.Lacks(n.part)
		if !lacks {
			continue
		}
		before := len(r.Metrics)
		r.Metrics = slices.DeleteFunc(r.Metrics, func(m Metric) bool {
			return slices.ContainsFunc(n.tags, func(tag string) bool { return matches(m.Tag, tag) })
		})
		if len(r.Metrics) < before {
			r.warnings = append(r.warnings, fmt.Errorf("%d metrics are left out: %s", before-len(r.Metrics), why))
			r.lacks = why
		}
	}
}

func matches(tag, pattern string) bool {
	if front, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(tag, front)
	}
	return tag == pattern
}
