package guidellm

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/py"
	stats "github.com/pa-tools/pa/internal/stat"
)

// This file computes GuideLLM's statistics: weighted distributions of values, of rates,
// and of concurrency over time.

// A point is a value x with its weight w, or the time x of an event with its amount w.
type point struct{ x, w float64 }

// An interval has the amount w from one time to another, in seconds.
type interval struct{ from, to, w float64 }

// ones gives each value the weight 1.
func ones(values []float64) []point {
	all := make([]point, len(values))
	for i, v := range values {
		all[i] = point{v, 1}
	}
	return all
}

// weights returns the weight of each point.
func weights(all []point) []float64 {
	w := make([]float64, len(all))
	for i := range all {
		w[i] = all[i].w
	}
	return w
}

// sum adds values in numpy's order.
func sum(x []float64) float64 { return stats.NumpySum(stats.NumpyCurrent, x) }

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

// statistics are the statistics of weighted values. The mean is Σ value·share; a percentile is the first value, in
// order, at which the sum of the shares reaches it.
type statistics struct {
	mean, median, mode, variance, std, min, max float64

	count       int64
	percentiles []float64 // of release.percentiles
}

// distribution returns the statistics of weighted values as the file has them.
func (r *release) distribution(all []point) py.Object {
	return r.distributionOf(all, counted(all))
}

// distributionOf is distribution with the number of observations given.
func (r *release) distributionOf(all []point, count int64) py.Object {
	s := r.statistics(all)
	if s.count = count; len(all) == 0 {
		s.count = 0
	}
	return r.object(&s)
}

// statistics computes the statistics, which are 0 without a value.
func (r *release) statistics(all []point) statistics {
	s := statistics{count: counted(all), percentiles: make([]float64, len(r.percentiles))}
	final := slices.DeleteFunc(unique(all), func(p point) bool { return !(p.w > 0) })
	if len(final) == 0 {
		return s
	}
	w := weights(final)
	total := sum(w)
	if total <= r.epsilon {
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
	s.mean, s.mode = sum(products), final[mode].x
	for i := range w {
		d := final[i].x - s.mean
		products[i] = float64(d*d) * w[i]
	}
	s.variance = sum(products)
	s.std = math.Sqrt(s.variance)
	reached, next := 0.0, 0
	for i := range w {
		reached += w[i]
		for ; next < len(r.percentiles) && reached >= r.percentiles[next].share; next++ {
			s.percentiles[next] = final[i].x
		}
	}
	s.min, s.max = final[0].x, final[len(final)-1].x
	for ; next < len(r.percentiles); next++ {
		s.percentiles[next] = s.max
	}
	s.median = s.percentiles[slices.IndexFunc(r.percentiles, func(p percentile) bool { return p.share == 0.5 })]
	return s
}

// object returns the statistics as the file has them.
func (r *release) object(s *statistics) py.Object {
	var percentiles py.Object
	for i := range r.percentiles {
		percentiles = append(percentiles, py.Member{Name: r.percentiles[i].name, Value: s.percentiles[i]})
	}
	return py.Object{
		{Name: "mean", Value: s.mean},
		{Name: "median", Value: s.median},
		{Name: "mode", Value: s.mode},
		{Name: "variance", Value: s.variance},
		{Name: "std_dev", Value: s.std},
		{Name: "min", Value: s.min},
		{Name: "max", Value: s.max},
		{Name: "count", Value: s.count},
		{Name: "total_sum", Value: s.mean * float64(s.count)},
		{Name: "percentiles", Value: percentiles},
		{Name: "pdf", Value: nil},
		{Name: "mean_ci", Value: nil},
		{Name: "percentile_cis", Value: nil},
	}
}

// A window is the measured time; the zero value is all time.
type window struct {
	bounded  bool
	from, to float64
}

// rate returns the distribution of rates. The rate of an event is its amount divided by
// half the time from the previous event to the next one.
func (r *release) rate(events []point, in window) py.Object {
	all := events
	if in.bounded {
		all = append([]point{{in.from, 0}}, slices.DeleteFunc(slices.Clone(events), func(p point) bool { return p.x < in.from || p.x > in.to })...)
		all = append(all, point{in.to, 0})
	}
	all = r.mergeClose(all)
	if len(all) <= 1 {
		return r.distributionOf(nil, 0)
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
			duration = max(all[last].x-middle(last-1), r.epsilon)
		default:
			duration = middle(i) - middle(i-1)
		}
		rates[i] = point{all[i].w / duration, duration}
	}
	return r.distributionOf(rates, counted(all))
}

// mergeClose joins events that are at most closeSeconds after the first of them.
func (r *release) mergeClose(events []point) []point {
	all := unique(events)
	var out []point
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].x <= all[i].x+r.closeSeconds && all[end].x-all[end-1].x <= r.closeSeconds {
			end++
		}
		out = append(out, point{all[i].x, sum(weights(all[i:end]))})
		i = end
	}
	return out
}

// concurrency returns the distribution over time of the sum of the intervals' amounts.
func (r *release) concurrency(all []interval, in window) py.Object {
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
	changes = r.mergeClose(changes)
	if in.bounded && len(changes) > 0 {
		before, _ := slices.BinarySearchFunc(changes, in.from, func(p point, t float64) int { return cmp.Compare(p.x, t) })
		changes = append([]point{{in.from, sum(weights(changes[:before]))}}, changes[before:]...)
		after := len(changes)
		for after > 0 && changes[after-1].x > in.to {
			after--
		}
		changes = append(changes[:after], point{in.to, 0})
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
		return r.distributionOf(nil, 0)
	case len(levels) <= 1:
		return r.distribution(ones([]float64{levels[0].x}))
	case !lasted:
		return r.distributionOf(nil, 0)
	}
	return r.distributionOf(levels[:len(levels)-1], count)
}
