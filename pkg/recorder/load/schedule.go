package load

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Schedule yields the instants at which the requests of an open loop are due.
type Schedule interface {
	// Next returns when the next request is due, counted from the start of the level. The
	// instants do not decrease. ok is false when there are no more requests. Next is not
	// for concurrent use.
	Next() (due time.Duration, ok bool)
}

// A unitProcess is an arrival process with the rate 1. Each call returns the next instant,
// as a multiple of the mean gap.
type unitProcess func() float64

// even returns the process with equal gaps: instant i is i+1. As in perf_analyzer, no
// request is due at 0, so that N requests take N gaps.
func even() unitProcess {
	n := 0.0
	return func() float64 {
		n++
		return n
	}
}

// A gapSource draws the gaps of a process. Each gap has its own generator, which depends only on
// the seed and the index of the gap.
type gapSource struct {
	seed, i uint64
	pcg     rand.PCG
	r       *rand.Rand
	draw    func(*rand.Rand) float64
}

func newGapSource(seed uint64, draw func(*rand.Rand) float64) *gapSource {
	g := &gapSource{seed: seed, draw: draw}
	g.r = rand.New(&g.pcg)
	return g
}

// next returns the next gap.
func (g *gapSource) next() float64 {
	g.pcg.Seed(g.seed, g.i)
	g.i++
	return g.draw(g.r)
}

// A block is a number of gaps that are scaled to a mean of 1, and their sum as drawn.
type block struct {
	n   int
	sum float64
}

// renewal returns the process with these gaps. The first gaps are scaled in blocks. The sum of 2^40 gaps with mean 1 is exact to 2^-12 of a gap.
func renewal(g *gapSource, blocks []block) unitProcess {
	i := 0                 // index in the block
	begin, sum := 0.0, 0.0 // start of the block, and sum of its gaps so far
	return func() float64 {
		for len(blocks) > 0 && i == blocks[0].n {
			begin, sum, i = begin+float64(i), 0, 0
			blocks = blocks[1:]
		}
		i++
		sum += g.next()
		if len(blocks) > 0 && blocks[0].sum > 0 {
			// At the last gap of the block this is begin + n exactly.
			return begin + float64(blocks[0].n)*(sum/blocks[0].sum)
		}
		return begin + sum
	}
}

// A profile scales a unit process in time. The rate grows linearly from 0 to rate during
// ramp, and then stays.
//
// The integral of the rate is the number of mean gaps up to t:
//
//	Λ(t) = rate·t²/(2·ramp)         for t ≤ ramp
//	Λ(t) = rate·(t − ramp/2)        for t ≥ ramp
//
// Instant u of the unit process is due at Λ⁻¹(u). With a Poisson process this gives the
// inhomogeneous Poisson process (Çınlar, "Introduction to Stochastic Processes", 1975,
// 4.7).
type profile struct {
	rate float64       // requests per second
	ramp time.Duration // 0: none
}

// at returns Λ⁻¹(u), rounded to a nanosecond and at most math.MaxInt64.
func (p profile) at(u float64) time.Duration {
	ramp := p.ramp.Seconds()
	s := u/p.rate + ramp/2
	if s < ramp {
		s = math.Sqrt(2 * ramp * u / p.rate)
	}
	return span(s * 1e9)
}

// mean returns Λ(t), the number of mean gaps up to t.
func (p profile) mean(t time.Duration) float64 {
	s, ramp := t.Seconds(), p.ramp.Seconds()
	if s < ramp {
		return p.rate * s * s / (2 * ramp)
	}
	return p.rate * (s - ramp/2)
}

// A rateSchedule is an endless schedule of a unit process and a profile.
type rateSchedule struct {
	next    unitProcess
	profile profile
}

// Next implements Schedule.
func (s *rateSchedule) Next() (time.Duration, bool) { return s.profile.at(s.next()), true }

// A gapSchedule is an endless schedule of recorded gaps, which repeat.
type gapSchedule struct {
	gaps  []time.Duration
	i     int
	at    time.Duration // unscaled
	speed float64
}

// Next implements Schedule.
func (s *gapSchedule) Next() (time.Duration, bool) {
	gap := s.gaps[s.i]
	s.i = (s.i + 1) % len(s.gaps)
	if s.at > math.MaxInt64-gap {
		s.at = math.MaxInt64 // also for later, shorter gaps
		return s.at, true
	}
	s.at += gap
	return scaled(s.at, s.speed), true
}

// A timetable is the schedule of a Timetable.
type timetable struct {
	offsets []time.Duration
	i       int
	speed   float64
}

// Next implements Schedule.
func (s *timetable) Next() (time.Duration, bool) {
	if s.i == len(s.offsets) {
		return 0, false
	}
	due := s.offsets[s.i] - s.offsets[0]
	s.i++
	return scaled(due, s.speed), true
}

// scaled returns d divided by speed; 0 means 1.
func scaled(d time.Duration, speed float64) time.Duration {
	if speed == 0 || speed == 1 {
		return d // a float64 would round a long time
	}
	return span(float64(d) / speed)
}
