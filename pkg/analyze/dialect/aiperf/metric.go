package aiperf

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/numpy"
	"github.com/pa-tools/pa/internal/quantile"
)

// A Metric is a metric with its statistics.
type Metric struct {
	// Tag is the metric's name in JSON: "time_to_first_token".
	Tag string
	// A missing statistic is NaN. A number for the whole run has only Avg; a metric of
	// steps over time has neither Sum nor Count.
	Count              int
	Avg, Min, Max, Std float64
	Sum                float64
	pct                [len(percentiles)]float64
}

// P returns a percentile that AIPerf knows: the 1st, 5th, 10th, 25th, 50th, 75th, 90th,
// 95th or 99th; NaN for any other.
func (m *Metric) P(pct int) float64 {
	if i := slices.Index(percentiles[:], pct); i >= 0 {
		return m.pct[i]
	}
	return math.NaN()
}

// stat returns the statistic of that name: "avg", "p99".
func (m *Metric) stat(name string) float64 {
	switch name {
	case "avg":
		return m.Avg
	case "min":
		return m.Min
	case "max":
		return m.Max
	case "std":
		return m.Std
	case "sum":
		return m.Sum
	}
	pct, _ := strconv.Atoi(strings.TrimPrefix(name, "p"))
	return m.P(pct)
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

// single returns a metric with one value for the whole run.
func single(tag string, v float64) Metric {
	m := none(tag)
	m.Avg = v
	return m
}

// spread sorts x and returns its statistics times scale. x must not be empty. As AIPerf
// does, it adds for the mean in the order of the requests and for the deviation in
// ascending order; the last digits depend on it.
func spread[T int64 | float64](tag string, x []T, scale float64) Metric {
	m := Metric{Tag: tag, Count: len(x)}
	m.Avg = numpy.Mean(numpy.Current, x) * scale
	m.Sum = numpy.Sum(numpy.Current, x) * scale
	quantile.Sort(x)
	m.Std = numpy.Std(numpy.Current, x) * scale
	m.Min, m.Max = float64(x[0])*scale, float64(x[len(x)-1])*scale
	for i, pct := range percentiles {
		m.pct[i] = quantile.At(x, float64(pct)/100) * scale // numpy's percentile, but for the last digit from the middle on
	}
	return m
}

// A series holds the values of one metric, in the order of the requests.
type series struct {
	ints   []int64 // whole nanoseconds or tokens
	floats []float64
}

// total returns the sum of the values.
func (s *series) total() float64 {
	whole, total := int64(0), 0.0
	for _, v := range s.ints {
		whole += v
	}
	for _, v := range s.floats {
		total += v
	}
	return float64(whole) + total
}

// metric returns the statistics of the values times scale. It sorts the values.
func (s *series) metric(tag string, scale float64) Metric {
	if s.ints != nil {
		return spread(tag, s.ints, scale)
	}
	return spread(tag, s.floats, scale)
}

// adjusted returns the statistics of the values with as many infinite values more: the
// values nearest to the percentiles, the one with the even rank of two, and the minimum.
// The values must be sorted.
func (s *series) adjusted(tag string, infinite int, scale float64) Metric {
	at := func(i int) float64 {
		if s.ints != nil {
			return float64(s.ints[i]) * scale
		}
		return s.floats[i] * scale
	}
	n := len(s.ints) + len(s.floats)
	m := none(tag)
	m.Count, m.Min = n+infinite, at(0)
	for i, pct := range percentiles {
		if k := int(math.RoundToEven(float64(m.Count-1) * (float64(pct) / 100))); k < n {
			m.pct[i] = at(k)
		}
	}
	return m
}
