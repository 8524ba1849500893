package quality

// Most bounds the sum of the times of one answer, in nanoseconds (36 years), so that no
// computation overflows. No answer can use up a slack of more than Most, or come late with a deadline
// that is further away, so both are cut to endless.
const (
	Most    = 1 << 60
	endless = 2 * Most
)

// An Answer holds the times of the token events of one answer, and sums that several figures need. The zero
// value is no answer.
type Answer struct {
	ttft int64
	gaps []int64

	longest, shortest int64 // of the gaps; 0 without gaps
	sum               int64 // of the gaps
	// sums holds the sums of the gaps in ranges of their positions: range k, from 0, has the positions from 2^k to
	// 2^(k+1)−1. Only the ranges that have gaps are set.
	sums [maxRanges]int64
}

// maxRanges is more than the ranges of any slice of gaps.
const maxRanges = 64

// Set makes a the answer with these times: ttft is the time from the start of the request to the first token event,
// and gaps are the times between successive token events, in nanoseconds. a keeps gaps. Set reports whether the times are
// within the range of this package: whether the sum of their absolute values is below Most. If they are not, a
// must not be used.
func (a *Answer) Set(ttft int64, gaps []int64) (fits bool) {
	a.ttft, a.gaps, a.sum, a.longest, a.shortest = ttft, gaps, 0, 0, 0
	if len(gaps) > 0 {
		a.longest, a.shortest = gaps[0], gaps[0]
	}
	longest, shortest := a.longest, a.shortest
	for k := range a.sums {
		if len(gaps) == 0 {
			break
		}
		some := gaps[:min(len(gaps), 1<<k)]
		gaps = gaps[len(some):]
		sum := int64(0)
		for _, g := range some {
			sum += g
			longest, shortest = max(longest, g), min(shortest, g)
		}
		a.sums[k] = sum
		a.sum += sum
	}
	a.longest, a.shortest = longest, shortest
	most := max(magnitude(ttft), magnitude(longest), magnitude(shortest))
	return most < Most/uint64(len(a.gaps)+1) || a.addsUp() // as a rule the former
}

// addsUp reports whether the sum of the absolute values of the times is below Most.
func (a *Answer) addsUp() bool {
	sum := magnitude(a.ttft)
	for _, g := range a.gaps {
		if sum >= Most {
			return false
		}
		sum += magnitude(g) // at most 2⁶³
	}
	return sum < Most
}

// magnitude returns the absolute value of v.
func magnitude(v int64) uint64 { return uint64(v^v>>63) - uint64(v>>63) }

// tokens returns the number of token events.
func (a *Answer) tokens() int64 { return int64(len(a.gaps) + 1) }
