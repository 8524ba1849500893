package load

import (
	"fmt"
	"math"
)

// Sequences says how the requests to a model that keeps state form sequences. A slot
// has one live sequence at a time and sends each of its requests after the response to
// the previous one.
type Sequences struct {
	// Live is the number of live sequences when a schedule sends the requests; 0
	// means DefaultLiveSequences. In a closed loop each slot has one.
	Live int
	// Length is the number of requests in a sequence, and Variation the fraction by
	// which it varies uniformly to both sides: from Length·(1−Variation) to
	// Length·(1+Variation), never below 1. A sequence longer than its stream starts
	// the stream again. Length 0 sends each stream once, to its end.
	Length    int
	Variation float64
	// First and Last bound the sequence ids, which are assigned in turn and start
	// again after Last; ids in use are skipped. A First of 0 means 1. A Last of 0
	// means 2^32−1, or First if that is larger.
	First, Last uint64
	// Seed seeds the lengths.
	Seed uint64
}

// DefaultLiveSequences is perf_analyzer's default of Sequences.Live.
const DefaultLiveSequences = 4

// Validate reports the first mistake of s.
func (s *Sequences) Validate() error {
	switch {
	case s.Live < 0:
		return fmt.Errorf("%d sequences: must be at least 1", s.Live)
	case s.Length < 0:
		return fmt.Errorf("sequence length %d: must be at least 1", s.Length)
	case !(s.Variation >= 0):
		return fmt.Errorf("sequence length variation %v: must not be negative", s.Variation)
	case max(s.First, s.Last) > math.MaxInt64:
		return fmt.Errorf("sequence ids %d to %d: must be below 2^63", s.First, s.Last)
	case s.Last != 0 && s.First > s.Last:
		return fmt.Errorf("sequence ids %d to %d: the first must not be above the last", s.First, s.Last)
	}
	return nil
}

// WithDefaults returns s with the defaults of Live, First and Last filled in.
func (s Sequences) WithDefaults() Sequences {
	if s.Live == 0 {
		s.Live = DefaultLiveSequences
	}
	if s.First == 0 {
		s.First = 1
	}
	if s.Last == 0 {
		s.Last = max(math.MaxUint32, s.First)
	}
	return s
}
