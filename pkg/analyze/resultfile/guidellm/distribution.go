package guidellm

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/numpy"
	"github.com/pa-tools/pa/internal/pyjson"
)

// This file computes GuideLLM's statistics: weighted distributions of values, of rates,
// and of concurrency over time.

// A point is a value x with its weight w, or the time x of an event with its amount w.
type point struct{ x, w float64 }

// An interval has the amount w from one time to another, in seconds.
type interval struct{ from, to, w float64 }

const (
	// merged is the distance in seconds up to which events count as one.
	merged = 1e-4
	// epsilon is GuideLLM's least total of weights, and its least duration.
	epsilon = 1e-6
)

// shares has GuideLLM's percentiles.
var shares = [...]struct {
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

// ones gives each value the weight 1.
func ones(values []float64) []point {
	all := make([]point, len(values))
	for i, v := range values {
		all[i] = point{v, 1}
	}
	return all
}

func weights(all []point) []float64 {
	w := make([]float64, len(all))
	for i := range all {
		w[i] = all[i].w
	}
	return w
}

// sum adds values in numpy's order.
func sum(x []float64) float64 { return numpy.Sum(numpy.Current, x) }

// unique sorts points by x and adds the weights of points with equal x.
func unique(all []point) []point {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	n := 0
	for i := range sorted {
		if n > 0 && sorted[n-1].x == sorted[i].x {
			sorted[n-1].w += sorted[i].w
			continue
		}
		sorted[n] = sorted[i]
		n++
	}
	return sorted[:n]
}

// counted returns the number of observations: the rounded sum of the weights.
func counted(all []point) int64 { return int64(math.RoundToEven(sum(weights(all)))) }

// distribution returns the statistics of weighted values. The mean is Σ value·share; a
// percentile is the first value, in order, at which the sum of the shares reaches it.
func distribution(all []point) pyjson.Object {
	return distributionOf(all, counted(all))
}

func distributionOf(all []point, count int64) pyjson.Object {
	if len(all) == 0 {
		count = 0
	}
	final := slices.DeleteFunc(unique(all), func(p point) bool { return !(p.w > 0) })
	if len(final) == 0 {
		return object(make([]float64, 7), count, 0, make([]float64, len(shares)))
	}
	w := weights(final)
	total := sum(w)
	if total <= epsilon {
		for i := range w {
			w[i] = 1
		}
		total = float64(len(w))
	}
	products, mode := make([]float64, len(final)), 0
	for i := range w {
		w[i] /= total
		products[i] = final[i].x * w[i]
		if w[i] > w[mode] {
			mode = i
		}
	}
	mean := sum(products)
	for i := range w {
		d := final[i].x - mean
		products[i] = float64(d*d) * w[i]
	}
	variance := sum(products)
	at, reached, next := make([]float64, len(shares)), 0.0, 0
	for i := range w {
		reached += w[i]
		for ; next < len(shares) && reached >= shares[next].share; next++ {
			at[next] = final[i].x
		}
	}
	last := final[len(final)-1].x
	for ; next < len(shares); next++ {
		at[next] = last
	}
	const p50 = 5
	return object([]float64{mean, at[p50], final[mode].x, variance, math.Sqrt(variance), final[0].x, last}, count, mean*float64(count), at)
}

func object(stats []float64, count int64, total float64, at []float64) pyjson.Object {
	var o, percentiles pyjson.Object
	for i, name := range [...]string{"mean", "median", "mode", "variance", "std_dev", "min", "max"} {
		o = append(o, pyjson.Member{Name: name, Value: stats[i]})
	}
	for i := range shares {
		percentiles = append(percentiles, pyjson.Member{Name: shares[i].name, Value: at[i]})
	}
	return append(
		o,
		pyjson.Member{Name: "count", Value: count},
		pyjson.Member{Name: "total_sum", Value: total},
		pyjson.Member{Name: "percentiles", Value: percentiles},
		pyjson.Member{Name: "pdf", Value: nil},
		pyjson.Member{Name: "mean_ci", Value: nil},
		pyjson.Member{Name: "percentile_cis", Value: nil},
	)
}

// A window is the measured time; the zero value is all time.
type window struct {
	bounded  bool
	from, to float64
}

// rate returns the distribution of rates. The rate of an event is its amount divided by
// half the time from the previous event to the next one.
func rate(events []point, in window) pyjson.Object {
	all := events
	if in.bounded {
		all = append([]point{{in.from, 0}}, slices.DeleteFunc(slices.Clone(events), func(p point) bool { return p.x < in.from || p.x > in.to })...)
		all = append(all, point{in.to, 0})
	}
	all = mergeClose(all)
	if len(all) <= 1 {
		return distributionOf(nil, 0)
	}
	last := len(all) - 1
	middle := func(i int) float64 { return (all[i+1].x + all[i].x) / 2 }
	rates := make([]point, len(all))
	for i := range all {
		var duration float64
		switch i {
		case 0:
			duration = middle(0) - all[0].x
		case last:
			duration = max(all[last].x-middle(last-1), epsilon)
		default:
			duration = middle(i) - middle(i-1)
		}
		rates[i] = point{all[i].w / duration, duration}
	}
	return distributionOf(rates, counted(all))
}

// mergeClose joins events that are at most merged after the first of them.
func mergeClose(events []point) []point {
	all := unique(events)
	var out []point
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].x <= all[i].x+merged && all[end].x-all[end-1].x <= merged {
			end++
		}
		out = append(out, point{all[i].x, sum(weights(all[i:end]))})
		i = end
	}
	return out
}

// concurrency returns the distribution over time of the sum of the intervals' amounts.
func concurrency(all []interval, in window) pyjson.Object {
	if in.bounded {
		all = slices.DeleteFunc(slices.Clone(all), func(i interval) bool { return i.to < in.from || i.from > in.to })
	}
	count := int64(len(all))
	var changes []point
	for _, i := range all {
		changes = append(changes, point{i.from, i.w})
	}
	for _, i := range all {
		changes = append(changes, point{i.to, -i.w})
	}
	changes = mergeClose(changes)
	if in.bounded && len(changes) > 0 {
		before, _ := slices.BinarySearchFunc(changes, in.from, func(p point, t float64) int { return cmp.Compare(p.x, t) })
		changes = append([]point{{in.from, sum(weights(changes[:before]))}}, changes[before:]...)
		behind := len(changes)
		for behind > 0 && changes[behind-1].x > in.to {
			behind--
		}
		changes = append(changes[:behind], point{in.to, 0})
	}
	var levels []point
	level, lasted := 0.0, false
	for i, c := range changes {
		level += c.w
		duration := 0.0
		if i+1 < len(changes) {
			duration = max(changes[i+1].x-c.x, 0)
		}
		lasted = lasted || duration > 0
		levels = append(levels, point{max(level, 0), duration})
	}
	switch {
	case len(levels) <= 1 && count == 0:
		return distributionOf(nil, 0)
	case len(levels) <= 1:
		return distribution(ones([]float64{levels[0].x}))
	case !lasted:
		return distributionOf(nil, 0)
	}
	return distributionOf(levels[:len(levels)-1], count)
}
