package diff

import (
	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A Metric is a statistic of one quantity.
type Metric struct {
	Key  string // "ttft_p99"
	Name string // for people: "TTFT p99"
	Kind gate.Kind
	// Primary metrics have a verdict; the others are descriptive.
	Primary   bool
	Direction inference.Direction

	of quantity
	// pct is the percentile, 0 for the mean.
	pct float64
}

// A quantity is the measure of which a Metric is a statistic.
type quantity uint8

const (
	ttft quantity = iota
	itl
	tpot
	e2el
	outputRate
	requestRate
	failedShare
	quantities

	seriesQuantities = e2el + 1 // quantities below it have series
)

// Metrics holds all compared metrics, in the order of reports.
var Metrics = [...]Metric{
	{"ttft_p50", "TTFT p50", gate.Duration, true, inference.LowerIsBetter, ttft, 50},
	{"ttft_p90", "TTFT p90", gate.Duration, false, inference.LowerIsBetter, ttft, 90},
	{"ttft_p99", "TTFT p99", gate.Duration, true, inference.LowerIsBetter, ttft, 99},
	{"ttft_mean", "TTFT mean", gate.Duration, false, inference.LowerIsBetter, ttft, 0},
	{"itl_p50", "ITL p50", gate.Duration, true, inference.LowerIsBetter, itl, 50},
	{"itl_p99", "ITL p99", gate.Duration, false, inference.LowerIsBetter, itl, 99},
	{"itl_mean", "ITL mean", gate.Duration, false, inference.LowerIsBetter, itl, 0},
	{"tpot_p50", "TPOT p50", gate.Duration, false, inference.LowerIsBetter, tpot, 50},
	{"e2el_p50", "E2EL p50", gate.Duration, true, inference.LowerIsBetter, e2el, 50},
	{"e2el_p99", "E2EL p99", gate.Duration, false, inference.LowerIsBetter, e2el, 99},
	{"e2el_mean", "E2EL mean", gate.Duration, false, inference.LowerIsBetter, e2el, 0},
	{"output_tokens_per_s", "output tokens/s", gate.Rate, true, inference.HigherIsBetter, outputRate, 0},
	{"requests_per_s", "requests/s", gate.Rate, false, inference.HigherIsBetter, requestRate, 0},
	{"failed_share", "failed", gate.Share, false, inference.LowerIsBetter, failedShare, 0},
}

// ParseGate reads a condition on a comparison: see package gate.
func ParseGate(text string) (*gate.Expr, error) {
	var names []gate.Metric
	for i := range Metrics {
		m := &Metrics[i]
		names = append(names, gate.Metric{Key: m.Key, Kind: m.Kind, Judged: m.Primary})
	}
	return gate.Parse(text, names)
}

// unit is the name of the kind's unit in JSON.
func unit(k gate.Kind) string {
	switch k {
	case gate.Duration:
		return "ns"
	case gate.Rate:
		return "1/s"
	}
	return "share"
}
