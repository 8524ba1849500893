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
// The operators &&, || and ! join conditions; || binds least and ! most, and parentheses
// group. Package expr has the grammar of operators, relation, number and unit; "%" is no
// unit here.
//
//	condition  = metric relation number [ unit ] .
//	metric     = NAME | "itl_mean" | "itl_min" | "itl_max" | "itl_p" number | "output_tokens_per_s" .
//
// NAME is a metric of the strict report but itl: "ttft", "e2el", "output_tokens", …; see package answer.
// Metrics may have capital letters. Blanks may separate all parts, but not the inside of
// a metric or a value. Durations need a unit, unless they are 0; counts and rates have
// none. The metrics itl_… are statistics of the gaps of the one request; itl_p takes any
// percentile above 0 and below 100.
//
// # Unknown metrics
//
// A request that lacks a metric (one token has no gap) neither meets nor misses a
// comparison with it. The result is Unknown, and operators treat it as in Kleene's logic.
// The other part can still decide: a slow first token alone misses ttft<=1s &&
// itl_max<=1s.
//
// The package knows no requests: values come from its caller.
package slo
