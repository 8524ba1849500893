package report

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

// The columns of lists with --metrics economics, prefix and phases. A request has no energy and no price
// of its own: both belong to the level.
var (
	economicsColumns = []column{
		ofFloat(answer.TPOT.Key(), func(r *Row) float64 { return r.TPOT }, column{head: "tpot_ms", width: 8, cell: func(r *Row) string { return threeDecimals(r.TPOT / 1e6) }}),
		ofFloat(analyze.KeyUserRate, func(r *Row) float64 { return rateOf(1, r.TPOT) }, column{}),
		ofFloat(analyze.KeyUserRateE2E, (*Row).wholeRate, column{head: "tok/s", width: 8, cell: func(r *Row) string { return threeDecimals(r.wholeRate()) }}),
	}
	prefixColumns = []column{
		ofMetric(answer.CachedTokens, func(r *Row) answer.Value { return r.Cached }, column{head: "cached", width: 6}),
		{
			name: "uncached_input_tokens", text: func(r *Row) string { return whole(r.Uncached) }, order: func(r *Row) answer.Value { return r.Uncached },
			head: "uncached", width: 8,
		},
		ofFloat(analyze.KeyHitRate, (*Row).hitRate, column{}),
	}
	phasesColumns = []column{
		ofMetric(answer.ServerPrefill, func(r *Row) answer.Value { return r.ServerPrefill }, column{head: "prefill_ms", width: 10, cell: func(r *Row) string { return millis(r.ServerPrefill) }}),
		ofMetric(answer.ServerDecode, func(r *Row) answer.Value { return r.ServerDecode }, column{head: "decode_ms", width: 9, cell: func(r *Row) string { return millis(r.ServerDecode) }}),
	}
)

// rateOf returns n per ns nanoseconds as a rate per second; NaN if there is no time.
func rateOf(n, ns float64) float64 {
	if !(ns > 0) {
		return math.NaN()
	}
	return n / (ns / 1e9)
}

// wholeRate returns output tokens / E2EL, per second; NaN if one of them is missing.
func (r *Row) wholeRate() float64 {
	if !r.Tokens.OK || !r.E2EL.OK {
		return math.NaN()
	}
	return rateOf(float64(r.Tokens.V), float64(r.E2EL.V))
}

// hitRate returns cached / input tokens; NaN if one of them is missing.
func (r *Row) hitRate() float64 {
	if !r.Uncached.OK {
		return math.NaN()
	}
	return float64(r.Cached.V) / float64(r.Input.V)
}

// threeDecimals formats a number for a table with three decimals; "" for NaN.
func threeDecimals(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
