package inference

import (
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// Values are the values of a run in the order of time. They may be in a file; NewSeries and NewPairs take slices.
type Values interface {
	Len() int
	// Block returns some successive values, value i among them, and the index of the first one. They are
	// valid until the next call.
	Block(i int) (from int, values []float64)
	// Sorted returns the values in ascending order.
	Sorted() Values
	// Make returns the values at(0) … at(n-1), kept where these values are kept. It calls at once for each
	// index, in ascending order.
	Make(n int, at func(i int) float64) Values
}

// A slice is Values in memory.
type slice []float64

// Len implements Values.
func (s slice) Len() int { return len(s) }

// Block implements Values.
func (s slice) Block(int) (from int, values []float64) { return 0, s }

// Sorted implements Values.
func (s slice) Sorted() Values {
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	return sorted
}

// Make implements Values.
func (s slice) Make(n int, at func(i int) float64) Values {
	made := make(slice, n)
	for i := range made {
		made[i] = at(i)
	}
	return made
}

// A vector reads Values by index. It is fast if successive calls read neighbouring values.
type vector struct {
	Values
	from  int
	block []float64
}

func vectorOf(v Values) *vector { return &vector{Values: v} }

// at returns value i.
func (v *vector) at(i int) float64 {
	if uint(i-v.from) >= uint(len(v.block)) {
		v.from, v.block = v.Block(i)
	}
	return v.block[i-v.from]
}

// eachBlock calls do with all values in their order, many at a time, and the index of the first of them, until it
// returns false. do must not read the vector.
func (v *vector) eachBlock(do func(from int, values []float64) bool) {
	v.from, v.block = 0, nil // Block overwrites it
	for i := 0; i < v.Len(); {
		from, values := v.Block(i)
		if !do(i, values[i-from:]) {
			return
		}
		i = from + len(values)
	}
}

// quantile returns the quantile p of type 7 of values in ascending order.
func (v *vector) quantile(p float64) float64 {
	k, f := stat.Position(v.Len(), p)
	if f == 0 {
		return v.at(k)
	}
	return stat.Between(v.at(k), v.at(k+1), f)
}

// all returns all values, which must be few, in memory.
func (v *vector) all() []float64 {
	if s, ok := v.Values.(slice); ok {
		return s
	}
	all := make([]float64, v.Len())
	for i := range all {
		all[i] = v.at(i)
	}
	return all
}

// mean returns the mean, whose partial sums stay in the range of the values; 0 without values.
func (v *vector) mean() float64 {
	mean := 0.0
	for i := range v.Len() {
		mean += (v.at(i) - mean) / float64(i+1)
	}
	return mean
}

// allEqual reports whether all values are the same.
func (v *vector) allEqual() bool {
	first := 0.0
	for i := range v.Len() {
		switch x := v.at(i); {
		case i == 0:
			first = x
		case x != first:
			return false
		}
	}
	return true
}
