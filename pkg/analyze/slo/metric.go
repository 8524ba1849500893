package slo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/expr"
)

// A Kind says what the values of a metric are.
type Kind uint8

// Duration values are nanoseconds, Count values numbers of tokens, Rate values
// tokens per second.
const (
	Duration Kind = 1
	Count    Kind = 2
	Rate     Kind = 3
)

// A Metric is a number that a request has, or lacks.
type Metric struct {
	// Name is as in expressions: "ttft", "itl_p99".
	Name string
	Kind Kind
	// Percentile is set for itl_p… only: above 0 and below 100.
	Percentile float64
}

// metrics are all but the percentiles, which go on for ever.
var metrics = []Metric{
	{Name: "ttft", Kind: Duration},
	{Name: "ttfat", Kind: Duration},
	{Name: "ttst", Kind: Duration},
	{Name: "tpot", Kind: Duration},
	{Name: "e2el", Kind: Duration},
	{Name: "itl_mean", Kind: Duration},
	{Name: "itl_min", Kind: Duration},
	{Name: "itl_max", Kind: Duration},
	{Name: "output_tokens", Kind: Count},
	{Name: "input_tokens", Kind: Count},
	{Name: "reasoning_tokens", Kind: Count},
	{Name: "cached_tokens", Kind: Count},
	{Name: "output_tokens_per_s", Kind: Rate},
}

// Names are the metrics that expressions may hold, "itl_p50" and "itl_p99"
// standing for all percentiles.
func Names() []string {
	var s []string
	for _, m := range metrics {
		s = append(s, m.Name)
		if m.Name == "itl_mean" {
			s = append(s, "itl_p50", "itl_p99")
		}
	}
	return s
}

// metricOf returns the metric of that name, in small or capital letters; why is what
// is wrong with it, with the way out.
func metricOf(name string) (m Metric, why string) {
	name = strings.ToLower(name)
	if i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return metrics[i], ""
	}
	if digits, ok := strings.CutPrefix(name, "itl_p"); ok && expr.IsNumber(digits) {
		p, err := strconv.ParseFloat(digits, 64)
		if err != nil || p <= 0 || p >= 100 {
			return Metric{}, "percentiles are above 0 and below 100; itl_min and itl_max are the ends"
		}
		return Metric{Name: name, Kind: Duration, Percentile: p}, ""
	}
	if name == "itl" {
		return Metric{}, "itl is the time between two tokens and a request has many; use itl_mean, itl_p99 or itl_max"
	}
	if base, rest, ok := strings.Cut(name, "_p"); ok && expr.IsNumber(rest) {
		if m, _ := metricOf(base); m.Name != "" {
			return Metric{}, "a request has one " + base + ", and an objective is about each request; use " + base + ", and the share of requests that must meet it for the percentile"
		}
	}
	return Metric{}, "no such metric; there are " + strings.Join(Names(), ", ")
}
