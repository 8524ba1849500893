package quality

import (
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// A Stall sums up the stalls of an answer: the gaps above a limit.
type Stall struct {
	N         int
	LongestNS int64
	TotalNS   int64
	// DecodeNS is the time from the first token event to the last.
	DecodeNS int64
}

// share returns TotalNS/DecodeNS; ok is false if all tokens came at one time.
func (s Stall) share() (share float64, ok bool) {
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

// Of returns the stalls of an answer with these gaps. The median is of type 7.
func (x *Stalls) Of(gaps []int64) Stall {
	sum, longest := int64(0), int64(0)
	for _, g := range gaps {
		sum += g
		longest = max(longest, g)
	}
	return x.of(gaps, sum, longest)
}

// ofAnswer returns the stalls of a. The result equals the result of Of for the gaps of a, and takes less time.
func (x *Stalls) ofAnswer(a *Answer) Stall { return x.of(a.gaps, a.sum, a.longest) }

// of returns the stalls of an answer. sum is the sum of the gaps; longest is the longest gap, or any length up to 0
// if no gap is above 0.
func (x *Stalls) of(gaps []int64, sum, longest int64) Stall {
	s := Stall{DecodeNS: sum}
	if float64(longest) <= float64(x.ThresholdNS) { // most answers have no stall
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
	return max(limit, float64(x.Factor*stat.Quantile(x.sorted, 0.5))), true
}
