package recorder

import (
	"math"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Plan chooses the levels of a run. It gets the levels that are done and returns the
// next one; ok is false when there is none. The first call must return a level. Run may
// call it again with the same levels.
type Plan func(done []Level) (next load.Level, ok bool)

// Within reports whether the latency of the level is known and below the limit. The
// latency is unknown when Reported has no successful request. Stability does not matter
// here; perf_analyzer counts an unstable level as over the limit.
func (l *Level) Within() bool { return l.Reported.Requests > 0 && !l.OverLimit }

// LinearSearch returns a Plan that measures one level after the other, up to the first
// that is not within Measure.LatencyLimit. at returns the level of an index; ok is false
// after the last.
func LinearSearch(at func(i int) (level load.Level, ok bool)) Plan {
	return func(done []Level) (load.Level, bool) {
		if n := len(done); n > 0 && !done[n-1].Within() {
			return nil, false
		}
		return at(len(done))
	}
}

// BinarySearch returns a Plan that searches between two loads for the highest within
// Measure.LatencyLimit, as perf_analyzer does. It measures from; if from is within the
// limit, it measures to; if to is not, it halves the interval between the highest load
// within the limit and the lowest over it, until they are at most step apart:
//
//	mid = (within + over) / 2, while over − within > step
//
// Integers are halved downwards. from must not be above to, and step must be above 0.
// level returns the level of a load.
func BinarySearch[T int | float64](from, to, step T, level func(T) load.Level) Plan {
	return func(done []Level) (load.Level, bool) {
		switch n := len(done); {
		case n == 0:
			return level(from), true
		case !done[0].Within() || from == to:
			return nil, false
		case n == 1:
			return level(to), true
		case done[1].Within():
			return nil, false
		}
		within, over := from, to
		for i := range done[2:] {
			if mid := (within + over) / 2; done[2+i].Within() {
				within = mid
			} else {
				over = mid
			}
		}
		mid := (within + over) / 2
		// Floats that are too close have no middle.
		if over-within <= step || mid <= within || mid >= over {
			return nil, false
		}
		return level(mid), true
	}
}

const (
	// sweepRates is how many rates an AutoSweep measures.
	sweepRates = 8
	// AutoSweepLevels is how many levels an AutoSweep measures at most.
	AutoSweepLevels = 2 + sweepRates
	// sweepGain is the least gain of throughput, full load over one request at a time,
	// for which an AutoSweep measures rates between the two.
	sweepGain = 1.05
)

// AutoSweep returns a Plan that measures the capacity of a server: one request at a
// time, most at a time, and then eight rates at equal distances between the throughputs
// of these two levels:
//
//	one + k·(all − one)/9 for k from 1 to 8
//
// rounded to a multiple of the largest power of ten that is at most a tenth of the
// distance (all − one)/9, so that rounding moves a rate by at most a twentieth of the
// distance to its neighbour. The rates have the arrivals, seed, ceiling and ramp of
// like. There are no rates when all is less than 1.05 times one, or when one of the two
// levels had no successful request.
func AutoSweep(most int, like load.Rate) Plan {
	return func(done []Level) (load.Level, bool) {
		switch len(done) {
		case 0:
			return load.Concurrency{N: 1, RampUp: like.RampUp}, true
		case 1:
			return load.Concurrency{N: most, RampUp: like.RampUp}, true
		case AutoSweepLevels:
			return nil, false
		}
		one, all := done[0].RequestsPerSecond(), done[1].RequestsPerSecond()
		if one <= 0 || all < sweepGain*one {
			return nil, false
		}
		next := like
		distance := (all - one) / (sweepRates + 1)
		next.PerSecond = roundedTo(one+float64(len(done)-1)*distance, distance/10)
		return next, true
	}
}

// roundedTo returns x rounded to a multiple of the largest power of ten that is at
// most step, which is above 0.
func roundedTo(x, step float64) float64 {
	exponent := int(math.Floor(math.Log10(step)))
	if exponent >= 0 {
		unit := math.Pow10(exponent)
		return math.Round(x/unit) * unit
	}
	scale := math.Pow10(-exponent) // whole, so that 10.56 is the float64 of "10.56"
	return math.Round(x*scale) / scale
}
