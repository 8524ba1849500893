package aiperf

import (
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/dialect"
)

// largerIsBetter are the metrics of requests that a limit is the least of.
var largerIsBetter = []string{
	"e2e_output_token_throughput", perUser, "prefill_throughput_per_user", outputLength, inputLength, "output_token_count",
	"reasoning_token_count", "usage_prompt_tokens", "usage_completion_tokens", "usage_total_tokens", "usage_reasoning_tokens", cacheRead,
}

// checkGoodput says whether there are such metrics.
func checkGoodput(limits []dialect.Limit) error {
	for _, l := range limits {
		if !slices.ContainsFunc(columns, func(c column) bool { return c.tag == l.Metric }) {
			return fmt.Errorf("AIPerf stops with: Unknown metric tag(s) in --goodput: %s.; it takes the names in its JSON report, such as %s", l.Metric, firstToken)
		}
	}
	return nil
}

// good reports whether a request keeps all limits. A request without a value for a
// metric fails its limit. If a metric has two limits, the last one counts.
func (a *analysis) good(r *record) bool {
	for i, l := range a.cfg.Goodput {
		if slices.ContainsFunc(a.cfg.Goodput[i+1:], func(o dialect.Limit) bool { return o.Metric == l.Metric }) {
			continue
		}
		v, ok := r.value(l.Metric, a.c.streamed)
		limit := l.Value
		switch describe(l.Metric).unit {
		case "ms":
			limit *= 1e6
		case "KB":
			limit *= 1024
		}
		least := slices.Contains(largerIsBetter, l.Metric)
		if !ok || least && v < limit || !least && v > limit {
			return false
		}
	}
	return true
}

// value returns a metric of the request, in nanoseconds, bytes or tokens.
func (r *record) value(tag string, streamed bool) (v float64, ok bool) {
	switch tag {
	case requestLatency:
		return float64(r.latency), true
	case firstToken:
		return float64(r.ttft), streamed
	case secondToken:
		if len(r.gaps) == 0 {
			return 0, false
		}
		return float64(r.gaps[0]), streamed
	case "time_to_first_output_token":
		return float64(r.ttfo), streamed && r.ttfo >= 0
	case "decode_duration":
		return float64(r.latency - r.ttft), streamed
	case interToken:
		v, ok = r.interToken()
		return v, ok && streamed
	case perUser:
		v, ok = r.userRate()
		return v, ok && streamed
	case "prefill_throughput_per_user":
		v, ok = r.prefillRate()
		return v, ok && streamed
	case "e2e_output_token_throughput":
		return r.endToEnd()
	case outputLength:
		return float64(r.output), r.hasOutput
	case inputLength:
		return float64(r.input), r.hasInput
	case "output_token_count":
		return float64(r.output - r.reasoning), r.output > r.reasoning
	case "usage_prompt_tokens":
		return float64(r.usage[0]), r.hasUsage
	case "usage_completion_tokens":
		return float64(r.usage[1]), r.hasUsage
	case "usage_total_tokens":
		return float64(r.usage[0] + r.usage[1]), r.hasUsage
	}
	return r.figure(tag)
}
