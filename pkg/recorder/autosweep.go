package recorder

import (
	"math"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

const (
	// sweepRates is how many rates an AutoSweep measures.
	sweepRates = 8
	// sweepGain is by how much more a server must give under full load than with
	// one request at a time for rates between the two to be worth while.
	sweepGain = 1.05
)

// AutoSweep returns a Plan that finds out what a server can do: one request at a
// time, most at a time, and then eight rates at equal distances between what these
// two gave per second:
//
//	one + k·(all − one)/9 for k from 1 to 8
//
// rounded to a multiple of the largest power of ten that is at most a tenth of the
// distance (all − one)/9, so that rounding moves a rate by at most a twentieth of the
// distance to its neighbour. The rates have the arrivals, seed, ceiling and ramp of
// like. There are no rates when all is hardly more than one, or one of the two levels
// gave nothing.
func AutoSweep(most int, like load.Rate) Plan {
	return func(done []Level) (load.Level, bool) {
		switch len(done) {
		case 0:
			return load.Concurrency{N: 1, RampUp: like.RampUp}, true
		case 1:
			return load.Concurrency{N: most, RampUp: like.RampUp}, true
		case 2 + sweepRates:
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
