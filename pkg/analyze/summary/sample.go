package summary

import (
	"math"
	"slices"
	"sort"

	"github.com/pa-tools/pa/internal/stat"
)

// A Sample collects the values of one metric. Nanoseconds and counts are int64; quotients are
// float64, and never NaN. The zero value keeps them in memory.
type Sample[T int64 | float64] struct {
	Memory *stat.Store // shared by the samples of a run; nil: no bound
	// sorter holds the values, floats as their keys; nil without values.
	sorter *stat.List
	// waiting holds values from AddOne that sorter and sums do not hold yet.
	waiting []T
	Sums          // of integers; the squares of floats are added in ascending order
	Err     error // from Summary: values could not be read back
	// Certified says that the summary has Certified.
	Certified bool
	// Effective is Summary.EffectiveN.
	Effective float64
	Curve     bool // the summary has a Curve
	// Bounds asks for Summary.AtMost: a number for each, in ascending order.
	Bounds []int64
	// Nth is the index of a value, in ascending order, that summary stores in NthValue; a value
	// that does not exist leaves it 0.
	Nth      int
	NthValue float64
}

// mostWaiting is the number of values that AddOne collects before it adds them together, which takes less
// time.
const mostWaiting = 32

// AddOne adds a value like Add, but the sorter and the sums may get it later, together with other values.
func (s *Sample[T]) AddOne(v T) {
	if s.waiting = append(s.waiting, v); len(s.waiting) == mostWaiting {
		s.addWaiting()
	}
}

// addWaiting moves the waiting values into the sorter and the sums.
func (s *Sample[T]) addWaiting() {
	s.Add(s.waiting...)
	s.waiting = s.waiting[:0]
}

// Add adds values, in their order.
func (s *Sample[T]) Add(values ...T) {
	if len(values) == 0 {
		return
	}
	if s.sorter == nil {
		if s.Memory == nil {
			s.Memory = stat.NewStore(0, "")
		}
		s.sorter = s.Memory.NewList(stat.Whole)
	}
	switch values := any(values).(type) {
	case []int64:
		s.addAll(values)
		s.sorter.Add(values...)
	case []float64:
		var keys [mostWaiting]int64
		for len(values) > 0 {
			n := min(len(values), len(keys))
			for i, v := range values[:n] {
				keys[i] = stat.Key(v)
			}
			s.sorter.Add(keys[:n]...)
			values = values[n:]
		}
	}
}

// Summary sorts the sample and describes it; nil when it is empty, or when values could not
// be read back, which s.Err says. It drops the values.
func (s *Sample[T]) Summary() *Summary {
	s.addWaiting()
	s.waiting = nil
	if s.sorter == nil {
		return nil
	}
	n := s.sorter.Len()
	d := &Summary{N: n, EffectiveN: s.Effective, Mean: s.mean()}
	places := append(summaryPlaces(n), s.Nth)
	var certificate certificate
	if s.Certified {
		certificate = certificateOf(n, s.Effective)
		places = append(places, certificate.places[:]...)
	}
	if s.Curve {
		places = curvePlaces(places, n)
	}
	p := pickedOf(n, places)
	squares := 0.0
	_, ints := any(T(0)).(int64)
	if ints && n > fewValues {
		s.pick(&p)
	} else {
		squares = s.pickSorted(&p, d.Mean)
	}
	if s.Bounds != nil {
		d.AtMost = s.atMost()
	}
	s.sorter.Release()
	s.sorter = nil
	if s.Err != nil {
		return nil
	}
	if d.Std = math.Sqrt(squares / float64(n)); ints {
		d.Std = s.squares.Std(s.sum, n)
	}
	p.describe(d)
	s.NthValue = p.at(s.Nth)
	if s.Certified {
		d.Certified = certificate.values(&p)
	}
	if s.Curve {
		d.Curve = curveOf(&p)
	}
	return d
}

// sorted calls f with all values in ascending order, many at a time.
func (s *Sample[T]) sorted(f func([]T)) {
	var floats []float64
	err := s.sorter.Ascending(func(keys []int64) {
		if x, ok := any(keys).([]T); ok {
			f(x)
			return
		}
		for some := range slices.Chunk(keys, floatsAtOnce) {
			floats = floats[:0]
			for _, k := range some {
				floats = append(floats, stat.FromKey(k))
			}
			f(any(floats).([]T))
		}
	})
	if s.Err == nil {
		s.Err = err
	}
}

// atMost returns for each of Bounds how many values are at most the bound.
func (s *Sample[T]) atMost() []int {
	counts, passed, next := make([]int, len(s.Bounds)), 0, 0
	s.sorted(func(x []T) {
		for ; next < len(counts); next++ {
			n := sort.Search(len(x), func(i int) bool { return float64(x[i]) > float64(s.Bounds[next]) })
			if counts[next] = passed + n; n == len(x) { // values to come may be at most the bound, too
				break
			}
		}
		passed += len(x)
	})
	for ; next < len(counts); next++ {
		counts[next] = passed
	}
	return counts
}

// pick sets the values of p, without sorting the others.
func (s *Sample[T]) pick(p *pickedValues) {
	values, err := s.sorter.Pick(p.places)
	for _, v := range values {
		p.values = append(p.values, float64(v))
	}
	if s.Err == nil {
		s.Err = err
	}
}

// pickSorted sorts all values and sets the values of p. It returns the sum of the squares of the differences
// from the mean.
func (s *Sample[T]) pickSorted(p *pickedValues, mean float64) (squares float64) {
	passed := 0
	s.sorted(func(x []T) {
		squares = stat.Squares(squares, x, mean)
		for k := len(p.values); k < len(p.places) && p.places[k]-passed < len(x); k++ {
			p.values = append(p.values, float64(x[p.places[k]-passed]))
		}
		passed += len(x)
	})
	return squares
}

// mean divides the exact sum of integers once, and the compensated (Neumaier) sum of floats,
// added in ascending order.
func (s *Sample[T]) mean() float64 {
	n := s.sorter.Len()
	if _, ok := any(T(0)).(int64); ok {
		return s.sum.Div(n)
	}
	var sum stat.Sum
	s.sorted(func(x []T) {
		for _, v := range x {
			sum.Add(float64(v))
		}
	})
	return sum.Value() / float64(n)
}

// Sums holds the sum of integers and of their squares.
type Sums struct {
	sum     stat.IntSum
	squares stat.IntSquares
}

// addAll adds the values.
func (s *Sums) addAll(values []int64) {
	s.sum.AddAll(values)
	s.squares.AddAll(values)
}

// Since returns the sums of the values that were added after before.
func (s *Sums) Since(before Sums) Sums {
	after := *s
	after.sum.Sub(before.sum)
	after.squares.Sub(before.squares)
	return after
}

// fewValues is the number of values up to which sorting all of them takes less than choosing some.
const fewValues = 256

// floatsAtOnce is the most floats that sorted passes on at a time: few enough to stay in a processor's cache.
const floatsAtOnce = 1 << 10
