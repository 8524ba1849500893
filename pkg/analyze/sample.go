package analyze

import (
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
)

// Levels are the percentiles of a [Summary], in percent and in order.
var Levels = [...]float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// A Summary describes a distribution. All values are in the unit of the
// metric; a Summary of no values does not exist.
type Summary struct {
	N    int
	Mean float64 // the exact sum, divided once
	Std  float64 // over the population (divided by N); 0 for one value
	Min  float64
	Max  float64
	// Pct holds the percentiles at Levels, type 7 (numpy's linear): exact, by
	// sorting.
	Pct [len(Levels)]float64
}

// P returns the percentile at a level, one of Levels. It panics for any other level.
func (s *Summary) P(level float64) float64 {
	i := slices.Index(Levels[:], level)
	if i < 0 {
		panic("analyze: not a percentile level")
	}
	return s.Pct[i]
}

// A sample collects the values of one metric, 8 bytes each. Nanoseconds and counts are
// int64; quotients are float64.
type sample[T int64 | float64] struct {
	x []T
}

func (s *sample[T]) add(v T) { s.x = append(s.x, v) }

// summary sorts the sample and describes it; nil when it is empty.
func (s *sample[T]) summary() *Summary {
	n := len(s.x)
	if n == 0 {
		return nil
	}
	quantile.Sort(s.x)
	m := mean(s.x)
	d := &Summary{N: n, Mean: m, Min: float64(s.x[0]), Max: float64(s.x[n-1])}
	d.Std = quantile.Std(s.x, m)
	for i, level := range Levels {
		d.Pct[i] = quantile.At(s.x, level/100)
	}
	return d
}

// mean returns the mean of x, which must not be empty. It divides the exact sum of
// integers once, and the compensated (Neumaier) sum of floats.
func mean[T int64 | float64](x []T) float64 {
	switch x := any(x).(type) {
	case []int64:
		var s quantile.IntSum
		for _, v := range x {
			s.Add(v)
		}
		return s.Div(len(x))
	case []float64:
		var s quantile.Sum
		for _, v := range x {
			s.Add(v)
		}
		return s.Value() / float64(len(x))
	}
	panic("unreachable")
}
