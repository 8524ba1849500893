package inference

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/internal/stat"
)

func TestQuantileIsType7(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 101} {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Floor(rng.ExpFloat64() * 100)
		}
		for _, pct := range []float64{0.1, 25, 50, 90, 99, 99.9} {
			want, err := stats.Percentile(x, pct)
			if err != nil {
				t.Fatal(err)
			}
			e := NewSeries(x).Quantile(pct / 100)
			if !near(e.Value, want, 1e-9) {
				t.Errorf("n = %d, p%v = %v, want %v", n, pct, e.Value, want)
			}
		}
	}
}

// When there is no interval, why, and what would be enough.
func TestNotAvailable(t *testing.T) {
	repeated := func(n int, v float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = v
		}
		return x
	}
	drift := logAR(4, 4000, 0, 0.5)
	for i := range drift {
		drift[i] *= 1 + 0.2*float64(i)/4000
	}
	driftingFew := logAR(4, 180, 0, 0.1)
	for i := range driftingFew {
		driftingFew[i] *= math.Exp(0.12 * math.Cos(math.Pi*float64(i)/90))
	}
	for _, tt := range []struct {
		name   string
		values []float64
		p      float64 // 0 for the mean
		reason string
		needs  [2]int // from, to
	}{
		{"empty", nil, 0, "no values", [2]int{0, 0}},
		{"empty", nil, 0.5, "no values", [2]int{0, 0}},
		{"one", []float64{3}, 0, "a single value", [2]int{30, 30}},
		{"one, p99", []float64{3}, 0.99, "a single value", [2]int{370, 370}},
		{"NaN", []float64{1, math.NaN(), 2}, 0, "value 1 is NaN", [2]int{0, 0}},
		{"infinite", []float64{1, 2, math.Inf(-1)}, 0.5, "value 2 is -Inf", [2]int{0, 0}},
		{"too large to square", []float64{1, 1e200}, 0, "value 1 is 1e+200", [2]int{0, 0}},
		{"too small to square", []float64{1e-300, 2e-300, 1e-300}, 0, "value 0 is 1e-300", [2]int{0, 0}},
		{"too close", []float64{1e-150, math.Nextafter(1e-150, 1)}, 0, "the values differ by too little", [2]int{0, 0}},
		{"constant", repeated(29, 7), 0, "all 29 values are the same", [2]int{0, 0}},
		{"constant", repeated(29, 7), 0.9, "all 29 values are the same", [2]int{0, 0}},
		{"no quantile", logAR(1, 1000, 0, 1), 1.5, "1.5 is not a quantile between 0 and 1", [2]int{0, 0}},
		{"no quantile, NaN", logAR(1, 1000, 0, 1), math.NaN(), "NaN is not a quantile", [2]int{0, 0}},
		{"two", []float64{1, 2}, 0.5, "2 values; at least 30 are needed", [2]int{30, 30}},
		{"two, p99", []float64{1, 2}, 0.99, "2 values; at least 30 are needed", [2]int{370, 370}},
		{"few for a p99", logAR(1, 300, 0, 1), 0.99, "too few of 300 values lie beyond p99", [2]int{370, 420}},
		{"few for a p1", logAR(1, 300, 0, 1), 0.01, "too few of 300 values lie beyond p1", [2]int{370, 420}},
		{"dependent", logAR(1, 1000, 0.9, 1), 0, "values depend on each other (correlation about 0.88)", [2]int{1500, 8000}},
		{"drifting, few", driftingFew, 0.5, "the values drift: slow waves hold", [2]int{300, 100_000}},
		{"drifting", drift, 0, "the values drift: slow waves hold", [2]int{10_000, 400_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewSeries(tt.values)
			var e Estimate
			if tt.p == 0 {
				e = s.Mean()
			} else {
				e = s.Quantile(tt.p)
			}
			if !strings.Contains(e.NA.Reason, tt.reason) {
				t.Errorf("reason %q, want %q", e.NA.Reason, tt.reason)
			}
			if e.NA.Needs < tt.needs[0] || e.NA.Needs > tt.needs[1] {
				t.Errorf("needs %d, want %d to %d", e.NA.Needs, tt.needs[0], tt.needs[1])
			}
			if i := e.Interval(0.95); !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
				t.Errorf("interval %v, want none", i)
			}
			if e.N != len(tt.values) {
				t.Errorf("N = %d, want %d", e.N, len(tt.values))
			}
		})
	}
}

func TestNAString(t *testing.T) {
	for want, na := range map[string]NA{
		"":                 {},
		"n/a":              {Reason: "constant"},
		"n/a (needs 1300)": {Reason: "too few", Needs: 1300},
	} {
		if got := na.String(); got != want {
			t.Errorf("%#v prints %q, want %q", na, got, want)
		}
	}
}

// An interval holds its estimate, grows with the level, moves with the unit
// of the values, and is none at a level that makes no sense.
func TestInterval(t *testing.T) {
	x := logAR(9, 5000, 0.8, 0.5)
	scaled := make([]float64, len(x))
	for i, v := range x {
		scaled[i] = 1e6 * v
	}
	for name, of := range map[string]func(*Series) Estimate{
		"mean": (*Series).Mean,
		"p50":  func(s *Series) Estimate { return s.Quantile(0.5) },
		"p99":  func(s *Series) Estimate { return s.Quantile(0.99) },
	} {
		e, big := of(NewSeries(x)), of(NewSeries(scaled))
		if e.NA.Missing() {
			t.Fatalf("%s: %s", name, e.NA.Reason)
		}
		before := Interval{e.Value, e.Value}
		for _, level := range []float64{0.1, 0.5, 0.9, 0.95, 0.99, 0.9999} {
			i, j := e.Interval(level), big.Interval(level)
			if !(i.Low < before.Low && i.High > before.High) {
				t.Errorf("%s: at %v %v, not around %v", name, level, i, before)
			}
			if !near(j.Low/i.Low, 1e6, 1e-3) || !near(j.High/i.High, 1e6, 1e-3) {
				t.Errorf("%s: at %v %v becomes %v in another unit", name, level, i, j)
			}
			before = i
		}
		for _, level := range []float64{-1, 0, 1, 2, math.NaN()} {
			if i := e.Interval(level); !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
				t.Errorf("%s: at level %v %v, want none", name, level, i)
			}
		}
	}
}

// Far out in the tail there is nothing left to bound a p99 with.
func TestIntervalUnbounded(t *testing.T) {
	e := NewSeries(logAR(2, 2000, 0, 0.5)).Quantile(0.99)
	if i := e.Interval(1 - 1e-12); !math.IsInf(i.High, 1) || math.IsInf(i.Low, -1) {
		t.Errorf("interval %v, want a lower end only", i)
	}
}

// For independent values the quantile's interval is the textbook's: ranks
// n·p ± t·√(n·p·(1−p)), a little inside or outside by the estimated spread.
func TestQuantileIntervalIndependent(t *testing.T) {
	const n = 10_000
	x := logAR(6, n, 0, 1)
	e := NewSeries(x).Quantile(0.5)
	s := NewSeries(x)
	s.Quantile(0.5)
	half := 2.12 * 0.5 / math.Sqrt(n)
	low, high := s.sorted.quantile(0.5-half), s.sorted.quantile(0.5+half)
	i := e.Interval(0.95)
	if ratio := (i.High - i.Low) / (high - low); ratio < 0.5 || ratio > 1.7 {
		t.Errorf("the interval is %v times as wide as the textbook's", ratio)
	}
}

// Constants have intervals without width, and two that differ are surely different. Constants of a
// coarse clock may be off by half a step.
func TestConstant(t *testing.T) {
	older, newer := NewSeries(slices.Repeat([]float64{100}, 60)), NewSeries(slices.Repeat([]float64{150}, 60))
	for name, of := range map[string]func(s *Series) Estimate{
		"mean": (*Series).Mean, "p50": func(s *Series) Estimate { return s.Quantile(0.5) }, "p99": func(s *Series) Estimate { return s.Quantile(0.99) },
	} {
		e := of(older)
		if i := e.Interval(0.95); e.NA.Missing() || i != (Interval{100, 100}) {
			t.Errorf("%s of constants: %v, interval %v", name, e.NA, i)
		}
		c := Change(e, of(newer))
		if i := c.Interval(0.999); !c.Constant || c.P != 0 || !near(c.Change, 0.5, 1e-12) || !near(i.Low, math.Sqrt(1.5)-1, 1e-9) || !near(i.High, 1.5*math.Sqrt(1.5)-1, 1e-9) {
			t.Errorf("%s of 100 and 150: constant %v, P %v, change %v, interval %v", name, c.Constant, c.P, c.Change, i)
		}
		same := Change(e, of(NewSeries(slices.Repeat([]float64{100}, 40))))
		if i := same.Interval(0.999); !same.Constant || same.P != 1 || i != (Interval{0, 0}) {
			t.Errorf("%s of 100 and 100: constant %v, P %v, interval %v", name, same.Constant, same.P, i)
		}
		varied := make([]float64, 60)
		for i, v := range logAR(1, 60, 0, 0.02) {
			varied[i] = 120 * v
		}
		if c := Change(e, of(NewSeries(varied))); name != "p99" && (c.Constant || c.NA.Missing() || c.P > 1e-4) {
			t.Errorf("%s of 100 and values about 120: constant %v, %v, P %v", name, c.Constant, c.NA, c.P)
		}
	}
}

// On a clock of 20 ms, no interval is narrower than half a step to either side. A cold request
// beside constants is no step.
func TestCoarseClock(t *testing.T) {
	coarse := slices.Repeat([]float64{100}, 60)
	for _, i := range []int{7, 20, 21, 44} {
		coarse[i] = 120
	}
	cold := slices.Repeat([]float64{100}, 60)
	cold[0] = 8000
	for _, tt := range []struct {
		name   string
		values []float64
		half   float64
	}{{"clock of 20 ms", coarse, 10}, {"cold request", cold, 0}} {
		s := NewSeries(tt.values)
		if got := s.halfStep(); got != tt.half {
			t.Errorf("%s: half a step is %v, want %v", tt.name, got, tt.half)
		}
		if got := NewSeries(tt.values).meanResolution(); got != tt.half {
			t.Errorf("%s: resolution %v of the mean, want %v", tt.name, got, tt.half)
		}
	}
	for name, e := range map[string]Estimate{"p50": NewSeries(coarse).Quantile(0.5), "mean": NewSeries(coarse).Mean()} {
		if i := e.Interval(0.95); !(i.High-e.Value >= 10 && e.Value-i.Low >= 10) {
			t.Errorf("%s %v of a clock of 20 ms: %v, interval %v", name, e.Value, e.NA, i)
		}
	}
	older, newer := NewSeries(coarse), NewSeries(coarse)
	c := Change(older.Quantile(0.5), newer.Quantile(0.5))
	if i := c.Interval(0.95); i.High < 0.1 || i.Low > -0.09 || c.P != 1 {
		t.Errorf("equal medians of a clock of 20 ms: interval %v, P %v", i, c.P)
	}
	// Values on a grid that is finer than their deviation: the mean is as precise as without.
	fine := make([]float64, 60)
	for i, v := range logAR(1, 60, 0, 0.2) {
		fine[i] = math.Round(100 * v)
	}
	if got := NewSeries(fine).meanResolution(); got != 0 {
		t.Errorf("resolution %v of the mean of values that deviate by 20 steps", got)
	}
}

// Expect finds what the estimates need to the last digit, whatever blocks the values come in.
func TestExpect(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 100, 2047, 2049, 9001} {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Floor(1e6*rng.ExpFloat64()) / 4
		}
		values[n-1] = values[0] + 1
		sorted := slices.Sorted(slices.Values(values))
		quantiles := []float64{0.5, 0.9, 0.99}
		s := SeriesOf(inBlocks{slice(values)})
		s.Expect(quantiles...)
		if want := spreadOf(n, func(i int) float64 { return values[i] }); *s.spreads[0] != want {
			t.Errorf("%d values: spread %+v for the mean, want %+v", n, *s.spreads[0], want)
		}
		for _, p := range quantiles {
			value := stat.Quantile(sorted, p)
			want := spreadOf(n, func(i int) float64 {
				return map[int]float64{-1: 1, 0: 0.5, 1: 0}[cmp.Compare(values[i], value)]
			})
			if *s.spreads[p] != want {
				t.Errorf("%d values, quantile %v: spread %+v, want %+v", n, p, *s.spreads[p], want)
			}
		}
		for _, p := range quantiles {
			if a, b := s.Quantile(p), NewSeries(values).Quantile(p); a.NA != b.NA || !a.NA.Missing() && a.Interval(0.9) != b.Interval(0.9) || a.Value != b.Value {
				t.Errorf("%d values, quantile %v: %v %v, want %v %v", n, p, a.Value, a.Interval(0.9), b.Value, b.Interval(0.9))
			}
		}
	}
}

// inBlocks are values in blocks of 7.
type inBlocks struct{ slice }

// Block implements Values.
func (v inBlocks) Block(i int) (from int, values []float64) {
	from = i - i%7
	return from, v.slice[from:min(from+7, len(v.slice))]
}
