package aiperf

import (
	"math"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A metric is a metric with its statistics.
type metric struct {
	// Tag is the metric's name in JSON: "time_to_first_token".
	Tag string
	// Count is the number of values. A missing statistic is NaN: a number for the whole run
	// has only Avg; a metric of steps over time has neither Sum nor Count.
	Count int
	dialect.Statistics
}

// none is a metric without statistics.
func none(tag string) metric {
	nan := math.NaN()
	m := metric{Tag: tag, Statistics: dialect.Statistics{Avg: nan, Min: nan, Max: nan, Std: nan, Sum: nan}}
	for i := range m.Pct {
		m.Pct[i] = nan
	}
	return m
}

// single returns a metric with one value for the whole run.
func single(tag string, v float64) metric {
	m := none(tag)
	m.Avg = v
	return m
}

// spread returns the statistics of a list, which must not be empty, times scale. As AIPerf
// does, it adds for the mean in the order of the requests and for the deviation in
// ascending order; the last digits depend on it.
func spread(tag string, x *stat.List, scale float64) metric {
	m := metric{Tag: tag, Count: x.Len()}
	sum := x.Sum(stat.NumpyCurrent)
	m.Avg, m.Sum = sum/float64(m.Count)*scale, sum*scale
	m.Std = x.SortedStd(stat.NumpyCurrent) * scale
	ranks := []int{0, m.Count - 1}
	for _, pct := range dialect.Percentiles {
		k, _ := stat.Position(m.Count, float64(pct)/100)
		ranks = append(ranks, k, min(k+1, m.Count-1))
	}
	at := x.Ranked(ranks...)
	m.Min, m.Max = at[0]*scale, at[1]*scale
	for i, pct := range dialect.Percentiles { // numpy's percentile, but for the last digit from the middle on
		p := at[2+2*i]
		if _, f := stat.Position(m.Count, float64(pct)/100); f != 0 {
			p = stat.Between(p, at[3+2*i], f)
		}
		m.Pct[i] = p * scale
	}
	return m
}

// A series holds the values of one metric, in the order of the requests.
type series struct {
	list     *stat.List
	whole    int64   // sum of whole nanoseconds or tokens
	fraction float64 // sum of other values
}

// total returns the sum of the values.
func (s *series) total() float64 { return float64(s.whole) + s.fraction }

// adjusted returns the statistics of the values with as many infinite values more: the
// values nearest to the percentiles, the one with the even rank of two, and the minimum.
func (s *series) adjusted(tag string, infinite int, scale float64) metric {
	n := s.list.Len()
	m := none(tag)
	m.Count = n + infinite
	ranks := []int{0}
	var of []int // indices of percentiles
	for i, pct := range dialect.Percentiles {
		if k := int(math.RoundToEven(float64(m.Count-1) * (float64(pct) / 100))); k < n {
			ranks, of = append(ranks, k), append(of, i)
		}
	}
	at := s.list.Ranked(ranks...)
	m.Min = at[0] * scale
	for i, k := range of {
		m.Pct[k] = at[1+i] * scale
	}
	return m
}
