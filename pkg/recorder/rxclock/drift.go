package rxclock

import (
	"slices"
	"sync"
)

const (
	// maxSlewPPM is the fastest slewing that adjtimex and adjtime allow, in parts per
	// million.
	maxSlewPPM = 500
	// minStepNS is the smallest step. An interruption of the process during a sample can
	// look like a smaller one.
	minStepNS = 1_000_000
)

// A Sample is the offset of the wall clock from the clock of the run at one moment.
type Sample struct {
	AtNS     uint64 // Unix nanoseconds of the run's clock
	OffsetNS int64  // wall clock − run's clock
}

// A Step is a jump of the wall clock, somewhere between two samples.
type Step struct {
	AfterNS, BeforeNS uint64 // Unix nanoseconds of the run's clock
	SizeNS            int64  // > 0: the wall clock was set forward
}

// A Drift finds the steps of the wall clock in the samples of a run. The zero value is
// ready. It is safe for concurrent use.
type Drift struct {
	mu    sync.Mutex
	last  Sample
	any   bool // last is a sample
	steps []Step
}

// Add adds a sample. It ignores a sample that is not later than the last one.
func (d *Drift) Add(s Sample) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.any && s.AtNS <= d.last.AtNS:
		return
	case d.any && isStep(d.last, s):
		d.steps = append(d.steps, Step{AfterNS: d.last.AtNS, BeforeNS: s.AtNS, SizeNS: s.OffsetNS - d.last.OffsetNS})
	}
	d.last, d.any = s, true
}

// isStep reports whether the offset moved by more than slewing explains.
func isStep(a, b Sample) bool {
	moved := b.OffsetNS - a.OffsetNS
	slewed := (b.AtNS - a.AtNS) / 1_000_000 * maxSlewPPM
	return uint64(max(moved, -moved)) > minStepNS+slewed
}

// Steps returns a copy of the steps.
func (d *Drift) Steps() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.steps)
}
