package load

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Schedule says when the requests of an open loop are due.
type Schedule interface {
	// Next returns when the next request is due, as a span since the start of
	// the level. Spans do not decrease. ok is false when there are no more
	// requests. It is not for several goroutines at a time.
	Next() (due time.Duration, ok bool)
}

// A unit is an arrival process of rate one without its time scale: each call
// returns the next instant, as a multiple of the mean gap.
type unit func() float64

// even is the process with equal gaps: instant i is i+1. There is nothing at 0,
// as perf_analyzer has it, so that N requests take N gaps.
func even() unit {
	n := 0.0
	return func() float64 {
		n++
		return n
	}
}

// renewal is the process whose gaps gap draws, each from a generator of its own,
// which depends on nothing but the seed and the index of the gap. The sum of 2^40
// gaps of mean 1 is good to 2^-12 of a gap.
func renewal(seed uint64, gap func(*rand.Rand) float64) unit {
	var pcg rand.PCG
	r := rand.New(&pcg)
	i, at := uint64(0), 0.0
	return func() float64 {
		pcg.Seed(seed, i)
		i++
		at += gap(r)
		return at
	}
}

// exponential draws the gaps of a Poisson process: P(gap > x) = e^−x.
func exponential(r *rand.Rand) float64 { return r.ExpFloat64() }

// gamma returns what draws from the gamma distribution of that shape and the
// mean 1, whose coefficient of variation is 1/√shape: bursts below 1, the
// exponential distribution at 1, more and more even above.
//
// It is the method of Marsaglia and Tsang ("A Simple Method for Generating Gamma
// Variables", 2000): with d = a − 1/3 and c = 1/√(9d), d·(1 + c·x)³ for a normal
// x, accepted with the density's ratio; and for a < 1, gamma(a+1)·U^(1/a).
func gamma(shape float64) func(*rand.Rand) float64 {
	a := shape
	if shape < 1 {
		a++
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	return func(r *rand.Rand) float64 {
		g := 0.0
		for {
			x := r.NormFloat64()
			v := 1 + c*x
			if v <= 0 {
				continue
			}
			v = v * v * v
			if u := 1 - r.Float64(); math.Log(u) < x*x/2+d*(1-v+math.Log(v)) {
				g = d * v
				break
			}
		}
		if shape < 1 {
			g *= math.Pow(1-r.Float64(), 1/shape)
		}
		return g / shape
	}
}

// A profile stretches a unit process over time: the rate grows from nothing to
// rate in the course of ramp, in proportion to the time, and stays.
//
// The rate's integral is how many mean gaps are over at t,
//
//	Λ(t) = rate·t²/(2·ramp)         for t ≤ ramp
//	Λ(t) = rate·(t − ramp/2)        from there on
//
// and the instant u of the unit process comes at Λ⁻¹(u); with the Poisson process
// that is the inhomogeneous one (Çınlar, "Introduction to Stochastic Processes",
// 1975, 4.7).
type profile struct {
	rate float64       // requests per second
	ramp time.Duration // 0: none
}

// at is Λ⁻¹, rounded to the nanosecond; what does not fit is the end of time.
func (p profile) at(u float64) time.Duration {
	ramp := p.ramp.Seconds()
	s := u/p.rate + ramp/2
	if s < ramp {
		s = math.Sqrt(2 * ramp * u / p.rate)
	}
	if ns := math.Round(s * 1e9); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

// A stretched is the schedule of a unit process and a profile.
type stretched struct {
	next    unit
	profile profile
}

// Next implements Schedule; there is always a next one.
func (s *stretched) Next() (time.Duration, bool) { return s.profile.at(s.next()), true }

// A looped is the schedule of recorded gaps, around and around.
type looped struct {
	gaps  []time.Duration
	i     int
	at    time.Duration // unscaled
	speed float64
}

// Next implements Schedule; there is always a next one.
func (s *looped) Next() (time.Duration, bool) {
	gap := s.gaps[s.i]
	s.i = (s.i + 1) % len(s.gaps)
	if s.at > math.MaxInt64-gap {
		return math.MaxInt64, true
	}
	s.at += gap
	return scaled(s.at, s.speed), true
}

// A listed is the schedule of recorded instants, in order.
type listed struct {
	offsets []time.Duration
	i       int
	speed   float64
}

// Next implements Schedule.
func (s *listed) Next() (time.Duration, bool) {
	if s.i == len(s.offsets) {
		return 0, false
	}
	due := s.offsets[s.i] - s.offsets[0]
	s.i++
	return scaled(due, s.speed), true
}

// scaled returns d at so many times the speed; 0 means 1.
func scaled(d time.Duration, speed float64) time.Duration {
	if speed == 0 || speed == 1 {
		return d // exactly
	}
	if ns := math.Round(float64(d) / speed); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}
