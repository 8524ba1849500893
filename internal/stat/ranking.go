package stat

import (
	"cmp"
	"math"
	"slices"
)

const (
	leastRanked = 1 << 17 // values from which a part of them is sorted at a time
	rankedParts = 32      // about as many parts
	mostRanked  = 8       // parts that are sorted one by one
)

// A Ranking returns the values of a List by their places in ascending order. It sorts the neighbors of a place when
// they are wanted: a small part of the values, for which it reads all of them. When many parts are wanted, or most
// values are equal, it sorts all values. The List must not change meanwhile.
type Ranking struct {
	list   *List
	parts  []rankedPart
	sorted int     // number of sorted parts
	all    *Cursor // of all values in ascending order; nil as long as only parts are sorted
}

// A rankedPart is the values from a value on, up to the next part.
type rankedPart struct {
	first  int     // place of the least value
	least  int64   // no value is less, or equal to the least of the next part
	values *Cursor // in ascending order; nil before they are wanted
}

// NewRanking returns a Ranking of l. The Store's Err tells if the temporary file could not be read.
func (l *List) NewRanking() *Ranking {
	r := &Ranking{list: l}
	if l.Len() < leastRanked {
		r.sortAll()
		return r
	}
	counter, _ := l.count(l.passes()) // the Store has the error
	place, want := 0, l.n/rankedParts
	for octave, o := range counter.octaves {
		if o == nil {
			continue
		}
		for i, n := range o {
			switch last := len(r.parts) - 1; {
			case n == 0:
				continue
			case n > 4*want:
				r.sortAll()
				return r
			case last < 0, place-r.parts[last].first >= want:
				r.parts = append(r.parts, rankedPart{first: place, least: leastOf(uint64(octave)<<rangeBits | uint64(i))})
			}
			place += n
		}
	}
	return r
}

// leastOf returns the least integer that a Counter counts in range r or a later one.
func leastOf(r uint64) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for low < high {
		mid := low + int64(uint64(high-low)/2)
		if order(float64(mid))>>rangeShift >= r {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// sortAll sorts all values.
func (r *Ranking) sortAll() {
	r.all, r.parts = r.list.Sorted().NewCursor(), nil
}

// Numbers returns successive numbers that values stand for, in ascending order, the number at place i among them, and
// the place of the first one. They are valid until the next call.
func (r *Ranking) Numbers(i int) (from int, numbers []float64) {
	if r.all != nil {
		return r.all.Numbers(i)
	}
	at, found := slices.BinarySearchFunc(r.parts, i, func(p rankedPart, i int) int { return cmp.Compare(p.first, i) })
	if !found {
		at--
	}
	p := &r.parts[at]
	switch {
	case p.values != nil:
	case r.sorted == mostRanked:
		r.sortAll()
		return r.all.Numbers(i)
	default:
		end, most := r.list.n, int64(math.MaxInt64)
		if at+1 < len(r.parts) {
			end, most = r.parts[at+1].first, r.parts[at+1].least-1
		}
		p.values = r.list.sortWithin(p.least, most, end-p.first)
		r.sorted++
	}
	from, numbers = p.values.Numbers(i - p.first)
	return p.first + from, numbers
}

// sortWithin returns the values from least to most, n in number, in ascending order.
func (l *List) sortWithin(least, most int64, n int) *Cursor {
	passes := l.passes()
	found := make([][]int64, len(passes))
	inParallel(len(passes), func(i int) {
		some := make([]int64, 0, n/len(passes))
		_ = passes[i](func(values []int64, _ []int32) {
			for _, v := range values {
				if least <= v && v <= most {
					some = append(some, v)
				}
			}
		})
		found[i] = some
	})
	all := slices.Concat(found...)
	Sort(all)
	if lost := n - len(all); lost > 0 { // the Store has the error
		all = append(all, make([]int64, lost)...)
	}
	sorted := l.Beside(l.kind)
	sorted.Add(all...)
	return sorted.NewCursor()
}
