// Package slo reads service level objectives, expressions over the metrics of
// one request, and decides whether a request meets them:
//
//	e, err := slo.Parse("ttft<=200ms && itl_p99<=50ms && e2el<5s")
//	switch e.Eval(func(m slo.Metric) (float64, bool) { return valueOf(request, m) }) {
//	case slo.Met:
//	…
//
// # Grammar
//
// Conditions are joined by &&, || and !, of which || binds least and ! most;
// parentheses group. The grammar of that, and of relation, number and unit, is
// that of package expr; "%" is no unit here.
//
//	condition  = metric relation number [ unit ] .
//	metric     = "ttft" | "ttfat" | "ttst" | "tpot" | "e2el"
//	           | "itl_mean" | "itl_min" | "itl_max" | "itl_p" number
//	           | "output_tokens" | "input_tokens" | "reasoning_tokens" | "cached_tokens"
//	           | "output_tokens_per_s" .
//
// Metrics may be written in capital letters. Blanks may stand between all of these
// but within a metric or a value.
// Durations need a unit, unless they are 0; counts and rates have none. The
// metrics itl_… are statistics of the gaps of the one request; itl_p takes any
// percentile above 0 and below 100.
//
// # What is not known
//
// A request that lacks a metric (one token has no gap) neither meets nor misses
// a comparison of it: the result is Unknown, and goes through the operators as
// in Kleene's logic. What is Unknown in one part can be decided by the other:
// ttft<=1s && itl_max<=1s is missed by a slow first token alone.
//
// The package knows no requests: values come from its caller.
package slo
