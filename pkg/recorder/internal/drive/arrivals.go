package drive

import "sync/atomic"

// Arrivals counts responses as they arrive, for a display of a load under way. Slots have
// counters of their own as far as possible, so that threads do not wait for each other. The
// zero value is ready.
type Arrivals struct {
	counters [arrivalCounters]arrivalCounter
}

const arrivalCounters = 64

// An arrivalCounter has a cache line of its own.
type arrivalCounter struct {
	n atomic.Uint64
	_ [56]byte
}

// of returns the counter of a slot; nil if a is nil.
func (a *Arrivals) of(worker int) *atomic.Uint64 {
	if a == nil {
		return nil
	}
	return &a.counters[worker%arrivalCounters].n
}

// Total returns the number of responses so far.
func (a *Arrivals) Total() uint64 {
	n := uint64(0)
	for i := range a.counters {
		n += a.counters[i].n.Load()
	}
	return n
}
