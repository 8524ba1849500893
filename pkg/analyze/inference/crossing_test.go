package inference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// of returns a level at which a share of n independent requests meets the objective.
func of(at, share float64, n int) Level { return Level{at, attainedOf(share, n, 1)} }

func TestCrossingOf(t *testing.T) {
	t.Parallel()
	inf, na := math.Inf(1), math.NaN()
	const many = 1_000_000_000 // so many that the interval is the hull of the interpolations
	// Shares of a lognormal latency with median 20·c^0.9 ms and log-sd 0.4, limit 200 ms; 95 % of
	// the requests meet it up to 6.2198. The line between the shares at 4 and 8 crosses 95 % at
	// 5.36, the line between the logarithms of misses at 6.82.
	lognormal := func(c float64) float64 {
		return 0.5 * math.Erfc(-(math.Log(200)-math.Log(20*math.Pow(c, 0.9)))/0.4/math.Sqrt2)
	}
	// A queue at 100/s: of the requests at rate r, e^(−(100−r)/10) take more than 100 ms. 99 %
	// meet it up to 53.948.
	queue := func(r float64) float64 { return 1 - math.Exp(-(100-r)/10) }
	for _, tt := range []struct {
		name           string
		levels         []Level
		target         float64
		within, beyond int
		value          float64
		low, high      float64
		unsure         []int
		again          bool
	}{
		{"the hull of interpolations", []Level{of(4, lognormal(4), many), of(8, lognormal(8), many)}, 0.95, 0, 1, 6.2198, 5.3406, 6.8252, nil, false},
		{"a queue", []Level{of(32, queue(32), many), of(64, queue(64), many)}, 0.99, 0, 1, 50.016, 42.904, 53.948, nil, false},
		{"a steep fall", []Level{of(16, 1, 1000), of(32, 0, 1000)}, 0.99, 0, 1, 18.80, 16, 32, nil, false},
		{"all attain it", []Level{of(1, 1, 1000), of(2, 1, 1000)}, 0.99, 1, -1, na, 2, inf, nil, false},
		{"none attains it", []Level{of(4, 0.9, 1000), of(8, 0.5, 1000)}, 0.99, -1, 0, na, -inf, 4, nil, false},
		{"too few requests", []Level{of(1, 1, 60), of(2, 1, 60), of(4, 0.98, 60)}, 0.99, -1, -1, 2.58, -inf, inf, []int{0, 1, 2}, false},
		{"an unsure level between", []Level{of(1, 1, 1000), of(2, 0.992, 1000), of(4, 0.5, 1000)}, 0.99, 0, 2, 2.03, 1, 4, []int{1}, false},
		// The average of the shares at 2 and 3 is the target or above.
		{"noise", []Level{of(1, 1, 1000), of(2, 0.989, 1000), of(3, 0.992, 1000), of(4, 0.5, 1000)}, 0.99, 0, 3, 3, 1, 4, []int{1, 2}, false},
		{"surely again", []Level{of(1, 1, 1000), of(2, 0.9, 1000), of(4, 1, 1000)}, 0.99, 0, 1, 1.21, 1, 2, nil, true},
	} {
		c := CrossingOf(tt.levels, tt.target, 0.95)
		near := func(got, want float64) bool {
			return got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 0.005*want
		}
		exact := slices.ContainsFunc(tt.levels, func(l Level) bool { return l.Share.N == many })
		if c.Within != tt.within || c.Beyond != tt.beyond || c.Again != tt.again || !slices.Equal(c.Unsure, tt.unsure) {
			t.Errorf("%s: %+v, want bounds %d and %d, unsure %v", tt.name, c, tt.within, tt.beyond, tt.unsure)
		}
		if exact && (!near(c.Value, tt.value) || !near(c.Interval.Low, tt.low) || !near(c.Interval.High, tt.high)) {
			t.Errorf("%s: %v in %v, want %v in %v to %v", tt.name, c.Value, c.Interval, tt.value, tt.low, tt.high)
		}
		if !exact && (math.IsNaN(c.Value) != math.IsNaN(tt.value) || c.Interval.Low < tt.low || c.Interval.High > tt.high) {
			t.Errorf("%s: %v in %v, want %v within %v to %v", tt.name, c.Value, c.Interval, tt.value, tt.low, tt.high)
		}
		checkCrossing(t, tt.levels, &c)
	}
}

// Requests depend on each other at least as much as at lower loads.
func TestCrossingOfDependent(t *testing.T) {
	t.Parallel()
	sure := []Level{of(1, 1, 1000), of(2, 0.998, 1000), of(4, 0.5, 1000)}
	dependent := slices.Clone(sure)
	dependent[0].Share = attainedOf(1, 1000, 3)
	if a, b := CrossingOf(sure, 0.99, 0.95), CrossingOf(dependent, 0.99, 0.95); a.Within != 1 || b.Within != -1 || a.Beyond != 2 || b.Beyond != 2 {
		t.Errorf("independent %+v, dependent %+v", a, b)
	}
}

func TestLowest(t *testing.T) {
	t.Parallel()
	inf, na := math.Inf(1), math.NaN()
	a := Crossing{Within: 1, Beyond: 3, Value: 5, Interval: Interval{4, 7}, Unsure: []int{2}}
	b := Crossing{Within: 2, Beyond: -1, Value: 6, Interval: Interval{3, inf}, Unsure: []int{3, 4}}
	all := Crossing{Within: 4, Beyond: -1, Value: na, Interval: Interval{16, inf}}
	none := Crossing{Within: -1, Beyond: 0, Value: na, Interval: Interval{-inf, 1}, Again: true}
	for _, tt := range []struct {
		name string
		of   []Crossing
		want Crossing
	}{
		{"one", []Crossing{a}, a},
		{"two", []Crossing{a, b}, Crossing{Within: 1, Beyond: 3, Value: 5, Interval: Interval{3, 7}, Unsure: []int{2}}},
		{"one that all attain", []Crossing{all, a}, Crossing{Within: 1, Beyond: 3, Value: 5, Interval: Interval{4, 7}, Unsure: []int{2}}},
		{"one that none attains", []Crossing{a, none}, Crossing{Within: -1, Beyond: 0, Value: 1, Interval: Interval{-inf, 1}, Again: true}},
		{"all attain both", []Crossing{all, all}, all},
	} {
		if got := Lowest(tt.of); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestRequestsToTell(t *testing.T) {
	t.Parallel()
	share := attainedOf(0.98, 500, 2)
	// 2.12² · 0.01·0.99 / 0.01², times 2.
	if got := RequestsToTell(&share, 0.99, 0.95); math.Abs(got-890) > 1 {
		t.Errorf("%v requests, want 890", got)
	}
	if got := RequestsToTell(&share, 0.98, 0.95); !math.IsInf(got, 1) {
		t.Errorf("%v requests at the target", got)
	}
}

// The bounds hold and the interval contains the true load, on grids from coarse to fine, for a
// closed loop and for a queue, whose requests depend on each other. test/statsvalidation has more.
func TestCrossingHolds(t *testing.T) {
	t.Parallel()
	loop := func(random *rand.Rand, load float64, n int) []float32 {
		all := make([]float32, n)
		for i := range all {
			all[i] = float32(math.Log(200/20) - 0.9*math.Log(load) - 0.4*random.NormFloat64())
		}
		return all
	}
	queue := func(random *rand.Rand, load float64, n int) []float32 {
		wait := 0.0
		if random.Float64() < load/100 {
			wait = random.ExpFloat64() / (100 - load)
		}
		all := make([]float32, n)
		for i := range all {
			took := wait + random.ExpFloat64()/100
			all[i] = float32(math.Log(0.1 / took))
			wait = math.Max(0, took-random.ExpFloat64()/load)
		}
		return all
	}
	for _, tt := range []struct {
		name     string
		margins  func(*rand.Rand, float64, int) []float32
		loads    []float64
		n        int
		target   float64
		truth    float64
		bounded  int // least number of repetitions of 40 with both bounds
		accurate float64
	}{
		{"closed loop, coarse", loop, []float64{1, 2, 4, 8, 16}, 500, 0.95, 6.2198, 38, 0.1},
		{"closed loop, very coarse", loop, []float64{1, 4, 16}, 500, 0.95, 6.2198, 38, 0.15},
		{"closed loop, fine", loop, []float64{5, 6, 7, 8}, 500, 0.95, 6.2198, 25, 0.1},
		{"queue, fine", queue, []float64{50, 52, 54, 56, 58}, 1000, 0.99, 53.948, 0, 0.2},
		{"queue, coarse", queue, []float64{60, 80, 90}, 2000, 0.9, 76.974, 5, 0.2},
	} {
		const reps = 40
		wrongBounds, misses, bounded, sum, values := 0, 0, 0, 0.0, 0
		for rep := range reps {
			random := rand.New(rand.NewPCG(uint64(rep), 3))
			var levels []Level
			for _, load := range tt.loads {
				levels = append(levels, Level{load, Attained(tt.margins(random, load, tt.n))})
			}
			c := CrossingOf(levels, tt.target, 0.95)
			if c.Within >= 0 && tt.loads[c.Within] > tt.truth || c.Beyond >= 0 && tt.loads[c.Beyond] < tt.truth {
				wrongBounds++
			}
			if !c.Interval.Contains(tt.truth) {
				misses++
			}
			if c.Within >= 0 && c.Beyond >= 0 {
				bounded++
			}
			if !math.IsNaN(c.Value) {
				values, sum = values+1, sum+c.Value
			}
		}
		// 3 % and 7 %, with an allowance for chance in 40 repetitions.
		if wrongBounds > 4 || misses > 8 || bounded < tt.bounded {
			t.Errorf("%s: of %d, %d wrong bounds, %d intervals that miss, %d with both bounds", tt.name, reps, wrongBounds, misses, bounded)
		}
		if mean := sum / float64(values); math.Abs(mean/tt.truth-1) > tt.accurate {
			t.Errorf("%s: the estimate is %v on average, want about %v", tt.name, mean, tt.truth)
		}
	}
}
