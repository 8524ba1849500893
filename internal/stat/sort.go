package stat

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
)

// Sort sorts x in ascending order, as [slices.Sort] does. It sorts many numbers by their
// digits, for which it takes memory for one or two copies of x meanwhile.
func Sort[T int64 | float64](x []T) {
	if len(x) < leastDigits {
		slices.Sort(x)
		return
	}
	switch x := any(x).(type) {
	case []int64:
		sortLarge(x, make([]int64, len(x)))
	case []float64:
		sortFloats(x)
	}
}

// sortWith sorts as Sort does, in the memory of scratch where that is large enough. It
// returns the scratch for the next call.
func sortWith(x, scratch []int64) []int64 {
	if len(x) < leastDigits {
		slices.Sort(x)
		return scratch
	}
	if cap(scratch) < len(x) {
		scratch = make([]int64, len(x))
	}
	sortLarge(x, scratch[:len(x)])
	return scratch
}

// sortFloats sorts numbers by the digits of integers that have the same order.
func sortFloats(x []float64) {
	keys := make([]int64, len(x))
	for i, v := range x {
		if math.IsNaN(v) {
			slices.Sort(x)
			return
		}
		keys[i] = Key(v)
	}
	sortLarge(keys, make([]int64, len(keys)))
	for i, k := range keys {
		x[i] = FromKey(k)
	}
}

// Key returns an integer that sorts among the Keys of other numbers as v does among the
// numbers; −0 is below 0. v must not be NaN.
func Key(v float64) int64 { return flip(int64(math.Float64bits(v))) }

// FromKey returns the number of a Key.
func FromKey(key int64) float64 { return math.Float64frombits(uint64(flip(key))) }

// flip turns the bits of a float64 into an integer with the same order, and back: the bits
// of a negative number fall as it rises.
func flip(bits int64) int64 { return bits ^ int64(uint64(bits>>63)>>1) }

const (
	leastDigits = 1 << 12 // values from which sorting by digits is faster
	digitBits   = 11
	digits      = (64 + digitBits - 1) / digitBits
	signBit     = 1 << 63 // to flip, so that negative numbers come first
)

// SortByHigh sorts x by its numbers without their last bits, low in number. Numbers that are equal but for these
// bits stay in their order. It sorts in the memory of scratch where that is large enough, and returns the scratch
// for the next call.
func SortByHigh(x, scratch []int64, low int) []int64 {
	if cap(scratch) < len(x) {
		scratch = make([]int64, len(x))
	}
	if uint64(len(x)) > math.MaxUint32 { // more than the counters count
		slices.SortStableFunc(x, func(a, b int64) int { return cmp.Compare(a>>low, b>>low) })
	} else if len(x) > 0 {
		sortDigitsFrom(x, scratch[:len(x)], low)
	}
	return scratch
}

// sortDigits sorts by all digits. scratch must be as long as x.
func sortDigits(x, scratch []int64) {
	if uint64(len(x)) > math.MaxUint32 { // more than the counters count
		slices.Sort(x)
		return
	}
	sortDigitsFrom(x, scratch, 0)
}

// sortDigitsFrom sorts by the digits of the numbers from the last to the first, where a number begins above its last
// bits, low in number. It passes over digits that all numbers share. scratch must be as long as x.
func sortDigitsFrom(x, scratch []int64, low int) {
	differ := int64(0)
	for _, v := range x {
		differ |= v ^ x[0]
	}
	different := uint64(differ) >> low
	from, to := x, scratch
	var counts [digits][1 << digitBits]uint32
	countDigits(x, different, low, &counts)
	for d := range counts {
		if digitOf(different, d) == 0 {
			continue
		}
		next := uint32(0)
		for i, n := range counts[d] {
			counts[d][i] = next
			next += n
		}
		for _, v := range from {
			at := &counts[d][digitOf((uint64(v)^signBit)>>low, d)]
			to[*at] = v
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// countDigits counts the digits of x that are not the same in all numbers, three in one pass:
// the numbers come from far memory.
func countDigits(x []int64, differ uint64, low int, counts *[digits][1 << digitBits]uint32) {
	for d := 0; d < digits; d += 3 {
		if differ>>(d*digitBits) == 0 {
			return
		}
		a, b, c := &counts[d], &counts[d+1], &counts[d+2]
		for _, v := range x {
			v := (uint64(v) ^ signBit) >> low
			a[digitOf(v, d)]++
			b[digitOf(v, d+1)]++
			c[digitOf(v, d+2)]++
		}
	}
}

// digitOf returns digit d of v, from the last.
func digitOf(v uint64, d int) uint64 { return v >> (d * digitBits) & (1<<digitBits - 1) }

const (
	leastParallel = 1 << 17 // values from which sorting on several cores is faster
	sortBits      = 11      // of the ranges whose values are counted
)

// sortLarge sorts on all cores. scratch must be as long as x. It moves the values into ranges
// of about equally many, which fit better into a processor's cache, and sorts each by digits.
func sortLarge(x, scratch []int64) {
	cores := min(runtime.GOMAXPROCS(0), 16)
	if len(x) < leastParallel || cores == 1 {
		sortDigits(x, scratch)
		return
	}
	least, most := slices.Min(x), slices.Max(x)
	span := uint64(most) - uint64(least)
	shift := max(0, bits.Len64(span)-sortBits)

	parts := make([]sortPart, cores)
	inParallel(cores, func(i int) {
		p := &parts[i]
		p.values = x[i*len(x)/cores : (i+1)*len(x)/cores]
		for _, v := range p.values {
			p.counts[(uint64(v)-uint64(least))>>shift]++
		}
	})
	// The ranges are groups of neighbors, each with about a quarter of a core's values.
	want := len(x)/(4*cores) + 1
	var ends []int // of the groups
	in, at := 0, 0 // values of the group, and of all before
	for r := range 1 << sortBits {
		for i := range parts {
			n := parts[i].counts[r]
			parts[i].counts[r] = at + in // where the values of the part go
			in += n
		}
		if in >= want || r == 1<<sortBits-1 {
			at += in
			in = 0
			ends = append(ends, at)
		}
	}
	inParallel(cores, func(i int) {
		p := &parts[i]
		for _, v := range p.values {
			r := (uint64(v) - uint64(least)) >> shift
			scratch[p.counts[r]] = v
			p.counts[r]++
		}
	})
	inParallel(len(ends), func(i int) {
		from := 0
		if i > 0 {
			from = ends[i-1]
		}
		if to := ends[i]; to > from {
			sortDigits(scratch[from:to], x[from:to])
			copy(x[from:to], scratch[from:to])
		}
	})
}

// A sortPart holds some of the values, and counts the values of each range.
type sortPart struct {
	values []int64
	counts [1 << sortBits]int
}

// inParallel calls do for each i from 0 up to n, each in a goroutine of its own.
func inParallel(n int, do func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { do(i) })
	}
	running.Wait()
}
