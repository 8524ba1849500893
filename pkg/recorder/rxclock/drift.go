package rxclock

import (
	"cmp"
	"slices"
	"sync"
)

const (
	// maxSlewPPM is how fast a clock is slewed at most, in parts per million:
	// what adjtimex and adjtime allow.
	maxSlewPPM = 500
	// minStepNS is the smallest step. Less is measured when the process is
	// interrupted in the middle of a sample.
	minStepNS = 1_000_000
)

// A Sample is the offset of the wall clock from the clock of the run, at one
// moment of the latter.
type Sample struct {
	AtNS     uint64 // Unix nanoseconds of the run's clock
	OffsetNS int64  // the wall clock is ahead by that much
}

// A Step is a jump of the wall clock, somewhere between two samples.
type Step struct {
	AfterNS, BeforeNS uint64 // Unix nanoseconds of the run's clock
	SizeNS            int64  // > 0: the wall clock was set forward
}

// A Drift is the samples of a run, in order. It is safe for concurrent use. It
// holds 16 bytes a sample, for a day of seconds 1.4 MB.
type Drift struct {
	mu      sync.Mutex
	samples []Sample
	steps   []Step
}

// NewDrift returns a Drift with the samples given, for example those that a
// recorded run holds.
func NewDrift(samples ...Sample) *Drift {
	d := new(Drift)
	for _, s := range samples {
		d.Add(s)
	}
	return d
}

// Add adds a sample. One that is not later than the last is ignored: the clock
// of a run does not go back.
func (d *Drift) Add(s Sample) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.samples); n > 0 {
		last := d.samples[n-1]
		if s.AtNS <= last.AtNS {
			return
		}
		if isStep(last, s) {
			d.steps = append(d.steps, Step{AfterNS: last.AtNS, BeforeNS: s.AtNS, SizeNS: s.OffsetNS - last.OffsetNS})
		}
	}
	d.samples = append(d.samples, s)
}

// isStep reports whether the offset moved by more than slewing explains.
func isStep(a, b Sample) bool {
	moved := b.OffsetNS - a.OffsetNS
	if moved < 0 {
		moved = -moved
	}
	return uint64(moved) > minStepNS+slewedNS(b.AtNS-a.AtNS)
}

// slewedNS is how far the offset may be slewed in ns nanoseconds.
func slewedNS(ns uint64) uint64 { return ns / 1_000_000 * maxSlewPPM }

// Samples returns a copy of the samples.
func (d *Drift) Samples() []Sample {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.samples)
}

// Steps returns a copy of the steps.
func (d *Drift) Steps() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.steps)
}

// RunNS brings a stamp of the wall clock, in Unix nanoseconds, to the clock of
// the run. lo and hi are bounds that are known for it, on that clock: when the
// request was issued, and when the bytes were in hand.
//
// The result is always within the bounds; a sample is not exact, so a moment
// that misses them by a microsecond (next to a step by what may have been slewed
// meanwhile) is put at the bound.
//
// Around a step more than one moment may have had that wall clock time, or
// none. If exactly one lies within the bounds, or all that do are within one
// microsecond, that is it. If several do, it is the last of them; if none does,
// it is the bound that is nearest. Both are guesses, and ok is false.
//
// Without samples the wall clock is taken to be the clock of the run. Stamps
// may be brought over while samples are added: what comes after the last is
// as if the offset would not change any more.
func (d *Drift) RunNS(wallNS, lo, hi uint64) (ns uint64, ok bool) {
	const exactNS = 1000
	d.mu.Lock()
	defer d.mu.Unlock()
	w := int64(wallNS)
	first, last, nearest := int64(0), int64(0), int64(0)
	found, seen := false, false
	consider := func(r int64, slack uint64) {
		if !seen || distance(r, lo, hi) < distance(nearest, lo, hi) {
			nearest, seen = r, true
		}
		if distance(r, lo, hi) > slack {
			return
		}
		r = min(max(r, int64(lo)), int64(hi))
		if !found {
			first, last, found = r, r, true
		}
		first, last = min(first, r), max(last, r)
	}
	if len(d.samples) == 0 {
		consider(w, exactNS)
	}
	// The samples around the bounds.
	from, _ := slices.BinarySearchFunc(d.samples, lo, func(s Sample, at uint64) int { return cmp.Compare(s.AtNS, at) })
	if from = max(from-1, 0); len(d.samples) > 0 && from == 0 {
		if r := w - d.samples[0].OffsetNS; r <= int64(d.samples[0].AtNS) {
			consider(r, exactNS)
		}
	}
	for i := from; i < len(d.samples); i++ {
		a := d.samples[i]
		if i > from && int64(a.AtNS) > int64(hi)+exactNS {
			break
		}
		if i == len(d.samples)-1 {
			if r := w - a.OffsetNS; r >= int64(a.AtNS) {
				consider(r, exactNS)
			}
			break
		}
		b := d.samples[i+1]
		if isStep(a, b) {
			slewed := slewedNS(b.AtNS - a.AtNS)
			for _, offset := range []int64{a.OffsetNS, b.OffsetNS} {
				if r := w - offset; distance(r, a.AtNS, b.AtNS) <= slewed {
					consider(r, exactNS+slewed)
				}
			}
			continue
		}
		if r := w - a.OffsetNS - slew(a, b, w); r >= int64(a.AtNS) && r <= int64(b.AtNS) {
			consider(r, exactNS)
		}
	}
	switch {
	case found:
		return uint64(last), last-first <= exactNS
	case seen && nearest < int64(lo):
		return lo, false
	case seen:
		return hi, false
	}
	return min(max(wallNS, lo), hi), false
}

// slew returns offset(r) − oₐ for the r with r + offset(r) = w, as derived in
// the package comment.
func slew(a, b Sample, w int64) int64 {
	moved := b.OffsetNS - a.OffsetNS
	if moved == 0 {
		return 0
	}
	span := int64(b.AtNS-a.AtNS) + moved // > 0: no step
	// moved is at most 5·10⁻⁴ of span and 1 ms, so that the float's relative
	// error of 10⁻¹⁶ is far below a nanosecond.
	return int64(float64(moved) * (float64(w-int64(a.AtNS)-a.OffsetNS) / float64(span)))
}

// distance returns how far r is outside of [lo, hi].
func distance(r int64, lo, hi uint64) uint64 {
	switch {
	case r < int64(lo):
		return uint64(int64(lo) - r)
	case r > int64(hi):
		return uint64(r - int64(hi))
	}
	return 0
}
