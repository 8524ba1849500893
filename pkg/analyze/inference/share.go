package inference

import (
	"math"

	"github.com/pa-tools/pa/internal/plural"
)

// Share estimates the share of requests that met an objective; the requests are in
// the order of time. Its interval is the interval of [Series.Quantile] seen from the
// other side: on the arcsine scale, where the spread of a share does not depend
// on the share, its ends are
//
//	sin²(arcsin √p ± t/(2·√n_e)),
//
// with n_e the effective number of requests. The rule asks for 12 independent
// requests on either side of the share. If all requests met it, or none, their
// dependence is unknown, and there is no interval.
func Share(met []bool) Estimate {
	n, k := len(met), 0
	for _, m := range met {
		if m {
			k++
		}
	}
	p := float64(k) / float64(n) // NaN of none
	switch k {
	case n:
		reason := plural.All(n) + " requests meet it, which shows no spread"
		switch n {
		case 0:
			reason = "no requests"
		case 1:
			reason = "a single request shows no spread"
		}
		return unavailable(p, n, reason)
	case 0:
		return unavailable(p, n, "none of "+plural.GroupedOf(n, "request")+" meets it, which shows no spread")
	}
	sp := spreadOf(n, func(i int) float64 {
		if met[i] {
			return 1
		}
		return 0
	})
	e := Estimate{Value: p, N: n, EffectiveN: sp.forRule()}
	e.NA, _ = sp.shortOf(p, "requests")
	reach := sp.arcsine(p)
	e.pivot = pivot{waves, func(t float64) Interval {
		from, to := reach(t)
		low, high := square(math.Sin(math.Max(0, from))), square(math.Sin(math.Min(math.Pi/2, to)))
		return Interval{math.Min(p, low), math.Max(p, high)} // which are p but for rounding at t = 0
	}}
	return e
}

// arcsine returns a function that gives the interval of the share p of a series of
// this spread, for a quantile t of Student's distribution. Its ends are on the
// arcsine scale, on which shares are from 0 to π/2.
func (s *spread) arcsine(p float64) func(t float64) (from, to float64) {
	center, unit := math.Asin(math.Sqrt(p)), 1/(2*math.Sqrt(s.effective()))
	return func(t float64) (from, to float64) { return center - t*unit, center + t*unit }
}
