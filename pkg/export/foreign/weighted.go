package foreign

import (
	"math"
	"slices"
)

// weighted holds the values of one of GuideLLM's distributions, in which a value counts as
// often as its weight says.
type weighted struct {
	x []struct{ value, weight float64 }
}

func (w *weighted) add(value, weight float64) {
	w.x = append(w.x, struct{ value, weight float64 }{value, weight})
}

// guideLLMPercentiles lists the percentiles of a distribution by GuideLLM's names.
var guideLLMPercentiles = []struct {
	name  string
	share float64
}{
	{"p001", 0.001},
	{"p01", 0.01},
	{"p05", 0.05},
	{"p10", 0.1},
	{"p25", 0.25},
	{"p50", 0.5},
	{"p75", 0.75},
	{"p90", 0.9},
	{"p95", 0.95},
	{"p99", 0.99},
	{"p999", 0.999},
}

// compare computes the figures of d and compares them. It merges equal values and adds
// their weights. The mean is Σ value·probability. A percentile is the first value, in
// order, at which the probabilities add up to the share, so it is always one of the values.
func (w *weighted) compare(c *selfCheck, name string, d *guideLLMDistribution) {
	slices.SortFunc(w.x, func(a, b struct{ value, weight float64 }) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	var values, weights []float64
	for _, x := range w.x {
		if n := len(values); n > 0 && values[n-1] == x.value {
			weights[n-1] += x.weight
			continue
		}
		values, weights = append(values, x.value), append(weights, x.weight)
	}
	total := sample(weights).sum()
	c.figure(name+" count", d.Count, math.Round(total))
	if len(values) == 0 || total == 0 {
		return
	}
	products := make(sample, len(values))
	for i := range values {
		products[i] = values[i] * (weights[i] / total)
	}
	mean := products.sum()
	for i := range values {
		products[i] = (values[i] - mean) * (values[i] - mean) * (weights[i] / total)
	}
	c.figure(name+" mean", d.Mean, mean)
	// Where the deviation is 0, the rounding error of the mean shows in it.
	std := math.Sqrt(products.sum())
	c.within(name+" std_dev", d.Std, std, max(tolerance, 1e-14*math.Abs(mean)/max(std, math.SmallestNonzeroFloat64)))
	c.figure(name+" min", d.Min, values[0])
	c.figure(name+" max", d.Max, values[len(values)-1])
	sum, next := 0.0, 0
	for i := range values {
		sum += weights[i] / total
		for ; next < len(guideLLMPercentiles) && sum >= guideLLMPercentiles[next].share; next++ {
			p := guideLLMPercentiles[next]
			if stored, ok := d.Percentiles[p.name]; ok {
				c.figure(name+" "+p.name, stored, values[i])
			}
		}
	}
}
