package main

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// naive returns a statistic and the interval that a textbook gives for it if
// all values are independent: x̄ ± 1.96·s/√n, or the sample quantiles at
// p ± 1.96·√(p(1−p)/n), or for a rate, with the spread of
// tokens − rate·duration. The latencies are given sorted as well.
func naive(s statistic, r run, sorted []float64) (value float64, i inference.Interval) {
	n := float64(len(r.latencies))
	if s.p > 0 {
		half := normal * math.Sqrt(s.p*(1-s.p)/n)
		at := func(p float64) float64 {
			position := math.Max(0, math.Min(1, p)) * (n - 1)
			k := min(int(position), len(sorted)-2)
			return sorted[k] + (position-float64(k))*(sorted[k+1]-sorted[k])
		}
		return at(s.p), inference.Interval{Low: at(s.p - half), High: at(s.p + half)}
	}
	y, scale := r.latencies, 1.0
	if s.rate {
		value = average(r.tokens) / average(r.durations)
		y = make([]float64, len(r.tokens))
		for i := range y {
			y[i] = r.tokens[i] - value*r.durations[i]
		}
		scale = 1 / average(r.durations)
	} else {
		value = average(y)
	}
	mean, sum := average(y), 0.0
	for _, v := range y {
		sum += (v - mean) * (v - mean)
	}
	half := normal * math.Sqrt(sum/(n-1)/n) * scale
	return value, inference.Interval{Low: value - half, High: value + half}
}

// naiveShare is a textbook's interval for the share p of n independent requests,
// p ± 1.96·√(p(1−p)/n).
func naiveShare(p float64, n int) inference.Interval {
	half := normal * math.Sqrt(p*(1-p)/float64(n))
	return inference.Interval{Low: p - half, High: p + half}
}

// naiveChange combines two such intervals into one for ln(new/old), as if they
// were right.
func naiveChange(older float64, o inference.Interval, newer float64, n inference.Interval) inference.Interval {
	l0, l1 := math.Log(older), math.Log(newer)
	return inference.Interval{
		Low:  l1 - l0 - math.Hypot(l1-math.Log(n.Low), math.Log(o.High)-l0),
		High: l1 - l0 + math.Hypot(math.Log(n.High)-l1, l0-math.Log(o.Low)),
	}
}

func average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
