package inference

import (
	"fmt"
	"math"
)

// The rule for a long run; small.go has the rule for short ones. There is an interval if
//
//   - the values are worth at least 200 independent ones, by their
//     autocorrelation time;
//   - for a quantile p, at least 12 independent values lie beyond it on either side:
//     effective·min(p, 1−p) ≥ 12, which is 1200 for the p99;
//   - the sixteen slowest waves hold at most 2.5 times the energy, per wave, of
//     the next 48. For a flat spectrum chance alone exceeds that in about one
//     run in 200.
//
// A rate also needs at least 2000 values: the slow rhythm of a busy server is a
// small part of the variation of its completions, and hard to see in fewer. With 30 to 1999
// values, a rate has a wider interval because of this rhythm, see [shortRate].
//
// All conditions guard against one danger: a run that is too short for its slowest
// rhythm looks calmer than it is. The first demands that the visible dependence
// repeats often enough. The second keeps the count of values beyond a quantile
// near enough to normal. The third finds a slow rhythm that is a small part of the
// whole, and a drift. The numbers are from simulation (test/statsvalidation): with
// smaller ones, intervals cover less than they should. No rule can see a change
// that is slower than the run itself.
const (
	minEffective = 200
	minBeyond    = 12
	maxRise      = 2.5
	minRate      = 2000
	minShortRate = 30 // values from which on a rate has a widened interval

	// The first interval of shortRate is the interval of a mean, times widenedRate with fewer than
	// steadyRate values, and times widenedSteadyRate with steadyRate values or more.
	widenedRate       = 1.2
	steadyRate        = 1000
	widenedSteadyRate = 1.1

	// The third interval of shortRate uses one wave for each valuesOfWave values, and at least
	// fewestWaves.
	valuesOfWave = 75
	fewestWaves  = 4

	// The second and the third interval of shortRate are 1 + widenedFew/√n times as wide.
	widenedFew = 2.0
)

// wanted returns how many independent values the rule wants for quantile p; a
// mean is asked for as p = ½, where only the first part of the rule matters.
func wanted(p float64) float64 {
	return math.Max(minEffective, math.Ceil(minBeyond/math.Min(p, 1-p)))
}

// shortOf returns why a series is too short for an interval around quantile p; the
// zero NA if it is long enough. few is set if it has too few values, and not if they
// drift. Needs assumes that the autocorrelation time stays the same, or that twice the
// rise takes twice the length to level.
func (s *spread) shortOf(p float64, noun string) (na NA, few bool) {
	want, effective, n := wanted(p), s.forRule(), float64(s.n)
	switch {
	case effective < want:
		reason := fmt.Sprintf("%d %s; at least %.0f are needed", s.n, noun, want)
		if e := math.Floor(effective); e < n {
			reason = fmt.Sprintf("%d %s depend on each other and tell as much as %.0f independent ones; at least %.0f are needed", s.n, noun, e, want)
		}
		return NA{
			Reason: reason,
			Needs:  roundUp(math.Max(want, n*want/effective)),
		}, true
	case s.rise > maxRise:
		return NA{
			Reason: fmt.Sprintf("the %s drift: slow waves hold %.1f times the energy of faster ones; up to %v counts as steady", noun, s.rise, maxRise),
			Needs:  roundUp(n * s.rise),
		}, false
	default:
		return NA{}, false
	}
}

// roundUp rounds up to two significant digits, which is more than the
// autocorrelation time is known to.
func roundUp(v float64) int {
	const most = 1e15 // far below what an int holds and above any run
	v = math.Min(v, most)
	step := math.Pow(10, math.Max(0, math.Floor(math.Log10(v))-1))
	return int(math.Ceil(v/step) * step)
}
