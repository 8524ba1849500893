package summary

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/internal/stat"
)

// near reports whether two values are equal up to the error of stats.Mean and stats.StandardDeviation, which sum in
// floats.
func near(a, b float64) bool {
	const tolerance = 1e-12 // relative
	return a == b || math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}

// Package stats has the published definition of every figure.
func TestSummary(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	random := func(n int, f func() int64) []int64 {
		x := make([]int64, n)
		for i := range x {
			x[i] = f()
		}
		return x
	}
	for _, tt := range []struct {
		name string
		x    []int64
	}{
		{"one", []int64{42}},
		{"zero", []int64{0}},
		{"two", []int64{10, 20}},
		{"two, unsorted", []int64{20, 10}},
		{"three", []int64{3, 1, 2}},
		{"1 to 10", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"all equal", []int64{5, 5, 5, 5, 5}},
		{"ties", []int64{1, 1, 1, 2, 2, 9}},
		{"negative, a clock set back", []int64{-3, 5, -1, 8, 0}},
		{"1001", random(1001, func() int64 { return rng.Int64N(1e9) })},
		{"long tail", random(9999, func() int64 { return int64(math.Exp(15 + 2*rng.NormFloat64())) })},
		{"many ties", random(5000, func() int64 { return rng.Int64N(7) })},
		{"two clusters, ns", random(100, func() int64 { return 10_000_000 + rng.Int64N(2)*1_000_000_000 })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var data stats.Float64Data
			for _, v := range tt.x {
				data = append(data, float64(v))
			}
			var s Sample[int64]
			s.Add(tt.x...)
			checkSummary(t, s.Summary(), data)
			var f Sample[float64]
			f.Add(data...)
			checkSummary(t, f.Summary(), data)
		})
	}
}

func checkSummary(t *testing.T, got *Summary, data stats.Float64Data) {
	t.Helper()
	check := func(name string, got float64, want float64, err error) {
		t.Helper()
		if err != nil || !near(got, want) {
			t.Errorf("%s = %v, want %v (%v)", name, got, want, err)
		}
	}
	if got.N != len(data) {
		t.Errorf("N = %d, want %d", got.N, len(data))
	}
	want, err := stats.Mean(data)
	check("mean", got.Mean, want, err)
	want, err = stats.StandardDeviationPopulation(data)
	check("std", got.Std, want, err)
	want, err = stats.Min(data)
	check("min", got.Min, want, err)
	want, err = stats.Max(data)
	check("max", got.Max, want, err)
	for i, level := range Levels {
		want, err = stats.Percentile(data, level)
		check("percentile", got.Pct[i], want, err)
		if got.P(level) != got.Pct[i] {
			t.Errorf("P(%v) = %v, want %v", level, got.P(level), got.Pct[i])
		}
	}
}

func TestSummaryEmpty(t *testing.T) {
	var s Sample[int64]
	if got := s.Summary(); got != nil {
		t.Errorf("summary of nothing = %+v, want nil", got)
	}
}

// The values of numpy.percentile([1..10]); version 0.7 of package stats had
// another definition (2.5, 9, 9.5 for p25, p90, p99).
func TestQuantileType7(t *testing.T) {
	x := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct{ pct, want float64 }{
		{0, 1}, {1, 1.09}, {5, 1.45}, {25, 3.25}, {50, 5.5}, {75, 7.75}, {90, 9.1}, {95, 9.55}, {99, 9.91}, {100, 10},
	} {
		if got := stat.Quantile(x, tt.pct/100); !near(got, tt.want) {
			t.Errorf("quantile(1…10, %v) = %v, want %v", tt.pct, got, tt.want)
		}
	}
}

// The value at an index is kept; an index without a value leaves 0.
func TestNthValue(t *testing.T) {
	for nth, want := range map[int]float64{-1: 0, 0: 10, 2: 30, 3: 0} {
		s := Sample[int64]{Nth: nth}
		s.Add(30, 10, 20)
		if d := s.Summary(); d.Min != 10 || d.Max != 30 || s.NthValue != want {
			t.Errorf("index %d: %v of %+v, want %v", nth, s.NthValue, d, want)
		}
		many := Sample[int64]{Nth: nth}
		for i := range int64(1 << 17) { // enough to be counted
			many.Add(10 * (i + 1))
		}
		if nth == 3 {
			want = 40
		}
		if many.Summary(); many.NthValue != want {
			t.Errorf("index %d of many: %v, want %v", nth, many.NthValue, want)
		}
	}
}

// The extremes of int64 must not overflow on the way.
func TestSummaryExtremes(t *testing.T) {
	var s Sample[int64]
	s.Add(math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64)
	d := s.Summary()
	if d.Mean != -0.5 || d.P(50) != 0 || d.Std != 1<<63 {
		t.Errorf("mean, p50, std = %v, %v, %v, want -0.5, 0, 2⁶³", d.Mean, d.P(50), d.Std)
	}
}

// Unix times in nanoseconds sum past 2⁶³ and are not whole floats.
func TestMeanIsExact(t *testing.T) {
	var s Sample[int64]
	for range 1000 {
		s.Add(1_795_260_066_530_560_925)
		s.Add(1_795_260_066_530_560_927)
	}
	if got, want := s.Summary().Mean, 1_795_260_066_530_560_926.0; got != want {
		t.Errorf("mean = %.0f, want %.0f", got, want)
	}
}

func BenchmarkSummary(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]int64, 1_000_000)
	for i := range x {
		x[i] = int64(math.Exp(16 + rng.NormFloat64()))
	}
	b.SetBytes(int64(8 * len(x)))
	b.ReportAllocs()
	for b.Loop() {
		var s Sample[int64]
		s.Add(x...)
		s.Summary()
	}
}

// A summary has the same bits however much of the sample is in a file, and the bits of
// the definition: sort, then compute.
func TestSummaryOfFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	draws := map[string]func() int64{
		"gaps":     func() int64 { return 8e6 + rng.Int64N(5e6) },
		"negative": func() int64 { return rng.Int64N(2001) - 1000 },
		"ties":     func() int64 { return rng.Int64N(3) },
		"wide":     func() int64 { return int64(rng.Uint64()) },
	}
	dir := t.TempDir()
	for name, draw := range draws {
		for _, n := range []int{1, 2, 3, 100, 5000, 20_000} {
			whole, quotients := make([]int64, n), make([]float64, n)
			for i := range whole {
				whole[i] = draw()
				quotients[i] = float64(draw()) / float64(1+rng.IntN(100))
			}
			want, wantQuotient := definition(whole), definition(quotients)
			for _, bytes := range []int64{0, 1, 50_000} {
				if bytes == 1 && n > 5000 {
					continue // many tiny runs
				}
				memory := stat.NewStore(bytes, dir)
				if got := summaryOf(memory, whole); !reflect.DeepEqual(got, want) {
					t.Errorf("%d %s in %d bytes: %+v, want %+v", n, name, bytes, got, want)
				}
				if got := summaryOf(memory, quotients); !reflect.DeepEqual(got, wantQuotient) {
					t.Errorf("%d quotients of %s in %d bytes: %+v, want %+v", n, name, bytes, got, wantQuotient)
				}
				if err := errors.Join(memory.Full(), memory.Close()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Many values in memory are counted, values in a file are merged: the summaries agree, with curve
// and certificate.
func TestSummaryCountedOrMerged(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	values := make([]int64, 150_000)
	for i := range values {
		values[i] = 8e6 + rng.Int64N(17e6)
	}
	var got [2]*Summary
	for i, bytes := range []int64{0, 100_000} {
		memory := stat.NewStore(bytes, t.TempDir())
		bounds := []int64{0, 8e6 - 1, 8e6, 10e6, 10e6, 20e6, 25e6, 30e6}
		s := Sample[int64]{Memory: memory, Curve: true, Certified: true, Nth: 77_777, Bounds: bounds}
		s.Add(values...)
		got[i] = s.Summary()
		slices.Sort(values)
		if want := float64(values[s.Nth]); s.NthValue != want {
			t.Errorf("value %d is %v, want %v", s.Nth, s.NthValue, want)
		}
		for k, bound := range bounds {
			if want, _ := slices.BinarySearch(values, bound+1); got[i].AtMost[k] != want {
				t.Errorf("%d values are at most %d, want %d", got[i].AtMost[k], bound, want)
			}
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("counted %+v, merged %+v", got[0], got[1])
	}
	if want := stat.Quantile(values, 0.99995); got[0].Curve[slices.Index(CurveLevels[:], 99.995)] != want {
		t.Errorf("p99.995 = %v, want %v", got[0].Curve, want)
	}
}

func summaryOf[T int64 | float64](memory *stat.Store, x []T) *Summary {
	s := Sample[T]{Memory: memory}
	for len(x) > 0 {
		k := min(len(x), 99)
		s.Add(x[:k]...)
		x = x[k:]
	}
	return s.Summary()
}

// definition describes values as package stat defines it, all in memory.
func definition[T int64 | float64](values []T) *Summary {
	x := slices.Clone(values)
	slices.Sort(x)
	var ints stat.IntSum
	var floats stat.Sum
	for _, v := range x {
		ints.Add(int64(v))
		floats.Add(float64(v))
	}
	d := &Summary{N: len(x), Mean: ints.Div(len(x)), Min: float64(x[0]), Max: float64(x[len(x)-1])}
	if _, ok := any(x).([]float64); ok {
		d.Mean = floats.Value() / float64(len(x))
	}
	if _, ok := any(x).([]int64); ok {
		d.Std = exactStd(x)
	} else {
		d.Std = math.Sqrt(stat.Squares(0, x, d.Mean) / float64(len(x)))
	}
	for i, level := range Levels {
		d.Pct[i] = stat.Quantile(x, level/100)
	}
	return d
}

// exactStd computes the deviation of integers with fractions, the mean being no float64.
func exactStd[T int64 | float64](x []T) float64 {
	n := big.NewRat(int64(len(x)), 1)
	mean, variance := new(big.Rat), new(big.Rat)
	for _, v := range x {
		mean.Add(mean, new(big.Rat).SetInt64(int64(v)))
	}
	mean.Quo(mean, n)
	for _, v := range x {
		d := new(big.Rat).SetInt64(int64(v))
		d.Sub(d, mean)
		variance.Add(variance, d.Mul(d, d))
	}
	f, _ := variance.Quo(variance, n).Float64()
	return math.Sqrt(f)
}

// Values that were added one at a time, and between others, are in the summary like values that were added together.
func TestAddOne(t *testing.T) {
	for _, n := range []int{1, mostWaiting - 1, mostWaiting, mostWaiting + 1, 5000} {
		var one, all Sample[int64]
		var oneFloat, allFloats Sample[float64]
		for i := range int64(n) {
			v := i * 7919 % 1000
			one.AddOne(v)
			all.Add(v)
			oneFloat.AddOne(float64(v) / 3)
			allFloats.Add(float64(v) / 3)
			if i%100 == 50 {
				one.Add(-i, i)
				all.Add(-i, i)
			}
		}
		if got, want := one.Summary(), all.Summary(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d integers: %+v, want %+v", n, got, want)
		}
		if got, want := oneFloat.Summary(), allFloats.Summary(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d floats: %+v, want %+v", n, got, want)
		}
	}
	var none Sample[int64]
	if none.Summary() != nil {
		t.Error("a summary of no values")
	}
}
