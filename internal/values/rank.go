package values

import (
	"math/bits"
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
)

const (
	bucketBits = 12
	mostSorted = 1 << 15 // values that are sorted rather than counted
)

// ranked returns the values at indices of the ascending order.
func (l *List) ranked(ranks []int) []int64 {
	least, most := l.bounds()
	all := make([]int64, len(ranks))
	var open []int
	for i := range ranks {
		open = append(open, i)
	}
	l.find(interval{low: least, high: most, n: l.n}, ranks, open, all)
	return all
}

// bounds returns the least and the most of the values.
func (l *List) bounds() (least, most int64) {
	least, most = l.min, l.max
	for i, v := range l.last {
		if i == 0 && len(l.blocks) == 0 {
			least, most = v, v
		}
		least, most = min(least, v), max(most, v)
	}
	return least, most
}

// An interval holds n values of a List, from low to high; below are less than low.
type interval struct {
	low, high int64
	below, n  int
}

// find sets all[i] to the value at ranks[i] for each i of open; these values are in the
// interval.
func (l *List) find(in interval, ranks, open []int, all []int64) {
	switch {
	case in.low == in.high:
		for _, i := range open {
			all[i] = in.low
		}
		return
	case in.n <= mostSorted:
		l.gather([]interval{in}, 0, ranks, open, all)
		return
	}
	shift := max(bits.Len64(uint64(in.high)-uint64(in.low))-bucketBits, 0)
	counts := make([]int, 1<<bucketBits)
	l.each(in, func(v int64) { counts[(uint64(v)-uint64(in.low))>>shift]++ })
	below := make([]int, len(counts)+1)
	for b, n := range counts {
		below[b+1] = below[b] + n
	}
	byBucket := map[int][]int{}
	var buckets []int
	for _, i := range open {
		b, _ := slices.BinarySearch(below, ranks[i]-in.below+1)
		b-- // the last bucket that begins at the rank or before it
		if byBucket[b] == nil {
			buckets = append(buckets, b)
		}
		byBucket[b] = append(byBucket[b], i)
	}
	slices.Sort(buckets)
	var few []interval
	var ofFew []int
	total := 0
	for _, b := range buckets {
		sub := interval{below: in.below + below[b], n: counts[b]}
		sub.low = int64(uint64(in.low) + uint64(b)<<shift)
		sub.high = int64(min(uint64(sub.low)-uint64(in.low)+(1<<shift-1), uint64(in.high)-uint64(in.low)) + uint64(in.low))
		if total+sub.n > mostSorted || sub.low == sub.high {
			l.find(sub, ranks, byBucket[b], all)
			continue
		}
		total += sub.n
		few, ofFew = append(few, sub), append(ofFew, byBucket[b]...)
	}
	if few != nil {
		l.gather(few, total, ranks, ofFew, all)
	}
}

// gather sorts the values of the intervals, which are few and in ascending order, and sets
// the values at ranks.
func (l *List) gather(few []interval, total int, ranks, open []int, all []int64) {
	found := make([]int64, 0, total)
	whole := interval{low: few[0].low, high: few[len(few)-1].high}
	l.each(whole, func(v int64) {
		k, ok := slices.BinarySearchFunc(few, v, func(in interval, v int64) int {
			switch {
			case in.high < v:
				return -1
			case in.low > v:
				return 1
			}
			return 0
		})
		if ok && few[k].low <= v {
			found = append(found, v)
		}
	})
	quantile.Sort(found)
	for _, i := range open {
		at := 0
		for _, in := range few {
			if ranks[i] < in.below+in.n {
				all[i] = found[at+ranks[i]-in.below]
				break
			}
			at += in.n
		}
	}
}

// each calls f with the values in the interval.
func (l *List) each(in interval, f func(v int64)) {
	next := l.Open()
	for block := next(); len(block) > 0; block = next() {
		for _, v := range block {
			if v >= in.low && v <= in.high {
				f(v)
			}
		}
	}
}
