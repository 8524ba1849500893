package analyze

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
)

// Levels are the percentiles of a [Summary], in percent and in order.
var Levels = [...]float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// A Summary describes a distribution. All values are in the unit of the
// metric; a Summary of no values does not exist.
type Summary struct {
	N    int
	Mean float64 // the exact sum, divided once
	Std  float64 // over the population (divided by N), exact for integers up to the rounding; 0 for one value
	Min  float64
	Max  float64
	// Pct holds the percentiles at Levels, type 7 (numpy's linear): exact.
	Pct [len(Levels)]float64
	// EffectiveN is the number of independent values that the N values are worth for Certified, at most N; 0
	// if it is not known.
	EffectiveN float64
	// Certified holds the percentiles at CertifiedLevels; nil unless Config.Certified asked for
	// them.
	Certified *[len(CertifiedLevels)]Certified
	// Curve holds the percentiles at CurveLevels; nil unless Config.Curve asked for them.
	Curve Curve
}

// P returns the percentile at a level, one of Levels. It panics for any other level.
func (s *Summary) P(level float64) float64 {
	i := slices.Index(Levels[:], level)
	if i < 0 {
		panic("analyze: not a percentile level")
	}
	return s.Pct[i]
}

// A sample collects the values of one metric. Nanoseconds and counts are int64; quotients are
// float64, and never NaN. The zero value keeps them in memory.
type sample[T int64 | float64] struct {
	memory *stat.Store // shared by the samples of a run; nil: no bound
	// sorter holds the values, floats as their keys; nil without values.
	sorter *stat.List
	// waiting holds values from addOne that sorter and sums do not hold yet.
	waiting []T
	sums          // of integers; the squares of floats are added in ascending order
	err     error // from summary: values could not be read back
	// certified says that the summary has Certified.
	certified bool
	// effective is Summary.EffectiveN.
	effective float64
	curve     bool // the summary has a Curve
	// nth is the index of a value, in ascending order, that summary stores in nthValue; a value
	// that does not exist leaves it 0.
	nth      int
	nthValue float64
}

// sums holds the sum of integers and of their squares.
type sums struct {
	sum     stat.IntSum
	squares stat.IntSquares
}

// addAll adds the values.
func (s *sums) addAll(values []int64) {
	s.sum.AddAll(values)
	s.squares.AddAll(values)
}

// since returns the sums of the values that were added after before.
func (s *sums) since(before sums) sums {
	after := *s
	after.sum.Sub(before.sum)
	after.squares.Sub(before.squares)
	return after
}

// mostWaiting is the number of values that addOne collects before it adds them together, which takes less
// time.
const mostWaiting = 32

// addOne adds a value like add, but the sorter and the sums may get it later, together with other values.
func (s *sample[T]) addOne(v T) {
	if s.waiting = append(s.waiting, v); len(s.waiting) == mostWaiting {
		s.addWaiting()
	}
}

// addWaiting moves the waiting values into the sorter and the sums.
func (s *sample[T]) addWaiting() {
	s.add(s.waiting...)
	s.waiting = s.waiting[:0]
}

// add adds values, in their order.
func (s *sample[T]) add(values ...T) {
	if len(values) == 0 {
		return
	}
	if s.sorter == nil {
		if s.memory == nil {
			s.memory = stat.NewStore(0, "")
		}
		s.sorter = s.memory.NewList(stat.Whole)
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

// fewValues is the number of values up to which sorting all of them takes less than choosing some.
const fewValues = 256

// summary sorts the sample and describes it; nil when it is empty, or when values could not
// be read back, which s.err says. It drops the values.
func (s *sample[T]) summary() *Summary {
	s.addWaiting()
	s.waiting = nil
	if s.sorter == nil {
		return nil
	}
	n := s.sorter.Len()
	d := &Summary{N: n, EffectiveN: s.effective, Mean: s.mean()}
	places := append(summaryPlaces(n), s.nth)
	var certificate certificate
	if s.certified {
		certificate = certificateOf(n, s.effective)
		places = append(places, certificate.places[:]...)
	}
	if s.curve {
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
	s.sorter.Release()
	s.sorter = nil
	if s.err != nil {
		return nil
	}
	if d.Std = math.Sqrt(squares / float64(n)); ints {
		d.Std = s.squares.Std(s.sum, n)
	}
	p.describe(d)
	s.nthValue = p.at(s.nth)
	if s.certified {
		d.Certified = certificate.values(&p)
	}
	if s.curve {
		d.Curve = curveOf(&p)
	}
	return d
}

// floatsAtOnce is the most floats that sorted passes on at a time: few enough to stay in a processor's cache.
const floatsAtOnce = 1 << 10

// sorted calls f with all values in ascending order, many at a time.
func (s *sample[T]) sorted(f func([]T)) {
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
	if s.err == nil {
		s.err = err
	}
}

// pick sets the values of p, without sorting the others.
func (s *sample[T]) pick(p *picked) {
	values, err := s.sorter.Pick(p.places)
	for _, v := range values {
		p.values = append(p.values, float64(v))
	}
	if s.err == nil {
		s.err = err
	}
}

// pickSorted sorts all values and sets the values of p. It returns the sum of the squares of the differences
// from the mean.
func (s *sample[T]) pickSorted(p *picked, mean float64) (squares float64) {
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
func (s *sample[T]) mean() float64 {
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

// A picked holds the values of a sample that its summary needs, by their places in ascending order.
type picked struct {
	n      int   // all values of the sample
	places []int // from 0, in ascending order
	values []float64
}

// pickedOf returns a picked with room for the values, for the places that exist among n values. It changes places.
func pickedOf(n int, places []int) picked {
	places = slices.DeleteFunc(places, func(i int) bool { return i < 0 || i >= n })
	slices.Sort(places)
	places = slices.Compact(places)
	return picked{n: n, places: places, values: make([]float64, 0, len(places))}
}

// at returns the value at a place; 0 if the place does not exist.
func (p *picked) at(place int) float64 {
	if i, ok := slices.BinarySearch(p.places, place); ok {
		return p.values[i]
	}
	return 0
}

// percentilePlaces appends the places that percentiles of n values need, in any order. The place after the last
// may be among them.
func percentilePlaces(places []int, n int, levels []float64) []int {
	for _, level := range levels {
		k, _ := stat.Position(n, level/100)
		places = append(places, k, k+1)
	}
	return places
}

// percentile returns a percentile whose places are in p.
func (p *picked) percentile(level float64) float64 {
	k, f := stat.Position(p.n, level/100)
	v := p.at(k)
	if f != 0 {
		v = stat.Between(v, p.at(k+1), f)
	}
	return v
}

// summaryPlaces returns the places that describe needs, with room for another one.
func summaryPlaces(n int) []int {
	return percentilePlaces(append(make([]int, 0, 2*len(Levels)+3), 0, n-1), n, Levels[:])
}

// describe sets the ends and the percentiles of d.
func (p *picked) describe(d *Summary) {
	d.Min, d.Max = p.at(0), p.at(p.n-1)
	for i, level := range Levels {
		d.Pct[i] = p.percentile(level)
	}
}

// A MetricSummary is a definition with the summary of its values.
type MetricSummary struct {
	Definition *answer.Definition
	Summary    *Summary
}

func metricOf(all []MetricSummary, m answer.Metric) *Summary {
	for i := range all {
		if all[i].Definition.Metric == m {
			return all[i].Summary
		}
	}
	return nil
}
