package analyze

import (
	"math"
	"slices"
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

// P returns the percentile at one of Levels and panics for any other level.
func (s *Summary) P(level float64) float64 {
	i := slices.Index(Levels[:], level)
	if i < 0 {
		panic("analyze: not a percentile level")
	}
	return s.Pct[i]
}

// A sample collects the values of one metric, 8 bytes each. Nanoseconds and
// counts are int64; float64 is for what a division made.
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
	slices.Sort(s.x)
	m := mean(s.x)
	d := &Summary{N: n, Mean: m, Min: float64(s.x[0]), Max: float64(s.x[n-1])}
	// Two passes: the deviations are small beside the values, so their squares
	// do not cancel as E[x²]−E[x]² would.
	var ss float64
	for _, v := range s.x {
		dev := float64(v) - m
		ss += dev * dev
	}
	d.Std = math.Sqrt(ss / float64(n))
	for i, level := range Levels {
		d.Pct[i] = quantile(s.x, level)
	}
	return d
}

// mean returns the mean of x, which must not be empty: of integers the exact
// sum divided once, of floats a compensated (Neumaier) sum.
func mean[T int64 | float64](x []T) float64 {
	switch x := any(x).(type) {
	case []int64:
		var s wideSum
		for _, v := range x {
			s.add(v)
		}
		return s.over(len(x))
	case []float64:
		var sum, c float64
		for _, v := range x {
			t := sum + v
			if math.Abs(sum) >= math.Abs(v) {
				c += (sum - t) + v
			} else {
				c += (v - t) + sum
			}
			sum = t
		}
		return (sum + c) / float64(len(x))
	}
	panic("unreachable")
}

// quantile returns the pct-th percentile (0 ≤ pct ≤ 100) of the sorted x,
// which must not be empty, by linear interpolation between the closest ranks:
// Hyndman and Fan's type 7, numpy's default, stats.Percentile since v0.8.0.
//
//	h = pct/100 · (n−1);  x[⌊h⌋] + (h−⌊h⌋) · (x[⌊h⌋+1] − x[⌊h⌋])
//
// The difference is taken in float64: that of two int64 may not fit one.
func quantile[T int64 | float64](x []T, pct float64) float64 {
	h := pct / 100 * float64(len(x)-1)
	k := int(h)
	f := h - float64(k)
	a := float64(x[k])
	if f == 0 || k+1 >= len(x) {
		return a
	}
	return a + f*(float64(x[k+1])-a)
}
