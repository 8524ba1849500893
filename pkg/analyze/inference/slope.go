package inference

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/plural"
)

// A Slope is the change of positive values over the time of a run, on a straight line through their
// logarithms.
type Slope struct {
	// Change is the change from the first value to the last, on the line of least squares: 0.3 for
	// thirty percent more. NaN if it cannot be computed.
	Change float64
	// P is the two-sided p-value of "the values do not drift"; NaN without one.
	P float64
	// NA says why there is no P.
	NA NA
}

const (
	// minSlope is the number of values from which on a slope is tested.
	minSlope = 30
	// minSlopeEffective is the number of independent values that a tested series is worth.
	minSlopeEffective = 20
	// slopeDF is the number of degrees of freedom of the deviation: of [waves], the line takes two.
	slopeDF = waves - 2
)

// Drifts reports whether the values drift by so much that it matters, and not by chance.
func (s *Slope) Drifts() bool {
	const most, least = 0.01, 0.1 // of the p-value, of the change
	return s.P <= most && math.Abs(s.Change) > least
}

// SlopeOf tests whether values, in the order of time, drift. The values must be positive.
//
// The test is the t test of a line through the normal scores of the values over the normal scores of their
// order: outliers do not disturb it, and any steady rise is a line. Its standard
// error allows for values that depend on each other: it comes from the long-run variance of the
// residuals, which is the largest of three estimates:
//
//   - the variance of the residuals, which is right for independent values;
//   - the variance times (1+φ)/(1−φ), where φ is the correlation of neighbouring residuals. A line
//     makes it too small by about (2+4φ)/n, which is added, and so is a standard error;
//   - the energy of the slowest waves of the residuals (see [spreadOf]), which shows a
//     dependence over longer times.
func SlopeOf(values []float64) Slope {
	s := Slope{Change: math.NaN(), P: math.NaN()}
	n := len(values)
	if n < minSlope {
		s.NA = NA{Reason: fmt.Sprintf(plural.Form(n, "%d value; at least %d are needed", "%d values; at least %d are needed"), n, minSlope), Needs: minSlope}
		return s
	}
	logs := make([]float64, n)
	for i, v := range values {
		if !usable(v) || v <= 0 {
			s.NA = NA{Reason: fmt.Sprintf("value %d is %v, which has no usable logarithm", i, v)}
			return s
		}
		logs[i] = math.Log(v)
	}
	s.Change = math.Expm1(slope(logs) * float64(n-1))
	if allEqual(values) {
		s.P = 1
		return s
	}
	residuals, each, xx := onLine(values)
	squares := 0.0
	for _, v := range residuals {
		squares += square(v)
	}
	variance := squares / float64(n-2)
	if !(variance > 1e-12) { // a perfect line
		s.P = 0
		return s
	}
	p := lagOne(residuals)
	p = math.Min(maxNeighbours, p+(2+4*p)/float64(n)+math.Sqrt((1-p*p)/float64(n)))
	longRun := variance
	if p > 0 {
		longRun = variance * (1 + p) / (1 - p)
	}
	var energies [waves]float64
	waveEnergies(residuals, energies[:])
	slow := 0.0
	for _, e := range energies {
		slow += e / slopeDF
	}
	longRun = math.Max(longRun, slow)
	if effective := float64(n) * variance / longRun; effective < minSlopeEffective {
		s.NA = NA{
			Reason: fmt.Sprintf("the %d values depend on each other and tell as much as %.0f independent ones; at least %d are needed", n, math.Floor(effective), minSlopeEffective),
			Needs:  roundUp(float64(n) * minSlopeEffective / effective),
		}
		return s
	}
	s.P = 2 * StudentUpper(math.Abs(each)/math.Sqrt(longRun/xx), slopeDF)
	return s
}

// onLine fits a line through the normal scores of the values over the normal scores of their order. It returns
// the residuals, the slope, and the sum of squares of the scores of the order.
func onLine(values []float64) (residuals []float64, slope, xx float64) {
	scores := normalScores(values)
	times := make([]float64, len(scores))
	xy := 0.0
	for i, y := range scores {
		times[i] = normalQuantile((float64(i) + 0.5) / float64(len(scores)))
		xx += square(times[i])
		xy += float64(times[i] * y)
	}
	slope = xy / xx // both have the mean 0
	for i, x := range times {
		scores[i] -= slope * x
	}
	return scores, slope, xx
}

// slope returns the change from each value to the next on the line of least squares.
func slope(y []float64) float64 {
	middle := float64(len(y)-1) / 2
	var xx, xy float64
	for i, v := range y {
		x := float64(i) - middle
		xx += x * x
		xy += float64(x * v)
	}
	return xy / xx
}
