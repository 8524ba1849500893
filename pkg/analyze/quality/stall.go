package quality

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
)

// A Stall sums up the stalls of an answer: the gaps above a limit.
type Stall struct {
	N         int
	LongestNS int64
	TotalNS   int64
	// DecodeNS is the time from the first token event to the last.
	DecodeNS int64
}

// Share returns TotalNS/DecodeNS; ok is false if all tokens came at one time.
func (s Stall) Share() (share float64, ok bool) {
	if s.DecodeNS <= 0 {
		return 0, false
	}
	return float64(s.TotalNS) / float64(s.DecodeNS), true
}

// Stalls finds the stalls of answers. It keeps a buffer; the zero value finds every gap above 0.
type Stalls struct {
	// A gap is a stall if it is above ThresholdNS and above Factor times the median gap of its
	// answer.
	ThresholdNS int64
	Factor      float64

	sorted []int64
}

// Of returns the stalls of an answer. The median is of type 7.
func (x *Stalls) Of(gaps []int64) Stall {
	var s Stall
	longest := int64(math.MinInt64)
	for _, g := range gaps {
		s.DecodeNS += g
		longest = max(longest, g)
	}
	if float64(longest) <= float64(x.ThresholdNS) { // as a rule
		return s
	}
	limit, _ := x.limit(gaps)
	for _, g := range gaps {
		if float64(g) > limit {
			s.N++
			s.LongestNS = max(s.LongestNS, g)
			s.TotalNS += g
		}
	}
	return s
}

// Find returns the indices of the gaps that are stalls, in ascending order.
func (x *Stalls) Find(gaps []int64) []int {
	limit, ok := x.limit(gaps)
	if !ok {
		return nil
	}
	var all []int
	for i, g := range gaps {
		if float64(g) > limit {
			all = append(all, i)
		}
	}
	return all
}

// limit returns the length above which a gap is a stall; ok is false if no gap is above the
// threshold.
func (x *Stalls) limit(gaps []int64) (limit float64, ok bool) {
	limit = float64(x.ThresholdNS)
	if !slices.ContainsFunc(gaps, func(g int64) bool { return float64(g) > limit }) {
		return limit, false // the median does not matter
	}
	x.sorted = append(x.sorted[:0], gaps...)
	slices.Sort(x.sorted)
	return max(limit, float64(x.Factor*quantile.At(x.sorted, 0.5))), true
}
