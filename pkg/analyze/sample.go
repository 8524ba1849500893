package analyze

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
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
	d := &Summary{N: s.sorter.Len(), EffectiveN: s.effective}
	d.Mean = s.mean()
	ranks := ranksOf(d.N)
	var certificate certificate
	if s.certified {
		certificate = certificateOf(d.N, d.EffectiveN)
	}
	var curve curve
	if s.curve {
		curve = curveOf(d.N)
	}
	var squares float64
	_, ints := any(T(0)).(int64)
	take := func(at int, x []T) {
		if i := s.nth - at; i >= 0 && i < len(x) {
			s.nthValue = float64(x[i])
		}
		ranks.passed, certificate.passed, curve.passed = at, at, at
		pass(&ranks, x)
		certify(&certificate, x)
		follow(&curve, x)
	}
	if ints && d.N > fewValues {
		s.pick(slices.Concat(ranks.indexes(), certificate.indexes(), curve.indexes(), []int{s.nth}), take)
	} else {
		s.sorted(func(x []T) {
			squares = stat.Squares(squares, x, d.Mean)
			take(ranks.passed, x)
		})
	}
	s.sorter.Release()
	s.sorter = nil
	if s.err != nil {
		return nil
	}
	if d.Std = math.Sqrt(squares / float64(d.N)); ints {
		d.Std = s.squares.Std(s.sum, d.N)
	}
	d.Min, d.Max, d.Pct = ranks.min, ranks.max, ranks.percentiles()
	d.Certified = certificate.all
	d.Curve = curve.finish()
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

// pick calls take with the values at the indexes, in ascending order, without sorting the
// others. Indexes that do not exist are left out.
func (s *sample[T]) pick(indexes []int, take func(at int, x []T)) {
	indexes = existing(indexes, s.sorter.Len())
	values, err := s.sorter.Pick(indexes)
	for i, v := range values {
		take(indexes[i], []T{T(v)})
	}
	if s.err == nil {
		s.err = err
	}
}

// existing returns the indexes of n values in ascending order, each once. It changes indexes.
func existing(indexes []int, n int) []int {
	indexes = slices.DeleteFunc(indexes, func(i int) bool { return i < 0 || i >= n })
	slices.Sort(indexes)
	return slices.Compact(indexes)
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

// ranks picks the ends and the percentiles at Levels from n sorted values that pass by.
type ranks struct {
	n, passed int
	min, max  float64
	k         [len(Levels)]int // index of the value at or below each percentile
	f         [len(Levels)]float64
	at, next  [len(Levels)]float64 // values k and k+1
}

func ranksOf(n int) ranks {
	r := ranks{n: n}
	for i, level := range Levels {
		r.k[i], r.f[i] = stat.Position(n, level/100)
	}
	return r
}

// indexes returns the indexes of the values that pass picks, in any order. The value after the
// last is among them.
func (r *ranks) indexes() []int {
	all := []int{0, r.n - 1}
	for _, k := range r.k {
		all = append(all, k, k+1)
	}
	return all
}

// pass takes the next sorted values.
func pass[T int64 | float64](r *ranks, x []T) {
	if len(x) == 0 {
		return
	}
	if r.passed == 0 {
		r.min = float64(x[0])
	}
	r.max = float64(x[len(x)-1])
	for i, k := range r.k {
		if k -= r.passed; k >= 0 && k < len(x) {
			r.at[i] = float64(x[k])
		}
		if k++; k >= 0 && k < len(x) {
			r.next[i] = float64(x[k])
		}
	}
	r.passed += len(x)
}

// percentiles returns the values at Levels when all values have passed.
func (r *ranks) percentiles() (pct [len(Levels)]float64) {
	for i, f := range r.f {
		if pct[i] = r.at[i]; f != 0 {
			pct[i] = stat.Between(r.at[i], r.next[i], f)
		}
	}
	return pct
}
