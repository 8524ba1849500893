package guidellm

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// weighted holds the values of one of GuideLLM's distributions, in which a value counts as
// often as its weight says.
type weighted struct {
	x []struct{ value, weight float64 }
}

func (w *weighted) add(value, weight float64) {
	w.x = append(w.x, struct{ value, weight float64 }{value, weight})
}

// percentileNames lists the percentiles of a distribution by GuideLLM's names.
var percentileNames = []struct {
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
func (w *weighted) compare(c *resultfile.SelfCheck, name string, d *fileDistribution) {
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
	total := resultfile.Sample(weights).Sum()
	c.Figure(name+" count", d.Count, math.Round(total))
	if len(values) == 0 || total == 0 {
		return
	}
	products := make(resultfile.Sample, len(values))
	for i := range values {
		products[i] = values[i] * (weights[i] / total)
	}
	mean := products.Sum()
	for i := range values {
		products[i] = (values[i] - mean) * (values[i] - mean) * (weights[i] / total)
	}
	c.Figure(name+" mean", d.Mean, mean)
	// Where the deviation is 0, the rounding error of the mean shows in it.
	std := math.Sqrt(products.Sum())
	c.Within(name+" std_dev", d.Std, std, max(resultfile.Tolerance, 1e-14*math.Abs(mean)/max(std, math.SmallestNonzeroFloat64)))
	c.Figure(name+" min", d.Min, values[0])
	c.Figure(name+" max", d.Max, values[len(values)-1])
	sum, next := 0.0, 0
	for i := range values {
		sum += weights[i] / total
		for ; next < len(percentileNames) && sum >= percentileNames[next].share; next++ {
			p := percentileNames[next]
			if stored, ok := d.Percentiles[p.name]; ok {
				c.Figure(name+" "+p.name, stored, values[i])
			}
		}
	}
}
