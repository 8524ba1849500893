package quality

// Most bounds the sum of the times of one answer, in nanoseconds (36 years), so that no
// computation overflows. No answer uses up a slack above Most or misses a deadline further away than
// Most, so endless replaces longer slacks and deadlines.
const (
	Most    = 1 << 60
	endless = 2 * Most
)

// An Answer holds the times of the token events of one answer, and sums that several figures need. Set fills
// it; the zero value must not be used.
type Answer struct {
	ttft int64
	gaps []int64

	longest, shortest int64 // longest and shortest gap; 0 without gaps
	sum               int64 // sum of the gaps
	// sums holds the sums of the gaps in ranges of their positions: range k, from 0, has the positions from 2^k to
	// 2^(k+1)−1. Only the ranges that have gaps are set.
	sums [maxRanges]int64
}

// maxRanges is the number of ranges in sums; no slice of gaps needs more.
const maxRanges = 64

// Set fills a with the times of an answer, in nanoseconds: ttft is the time from the start of the request to the
// first token event, and gaps are the times between successive token events. The caller must not change gaps while a
// is in use. Set reports whether the sum of the absolute values of the times is below Most. If it is not, a must not
// be used.
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
	return most < Most/uint64(len(a.gaps)+1) || a.addsUp() // the first comparison suffices for real times
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
