package stat

import (
	"math/bits"
	"slices"
)

const (
	sortedAtOnce = 1 << 20 // values that are sorted in memory
	sortedPart   = 1 << 19 // most values of a part of more values

	// passedAtOnce is the most values that Ascending passes on at a time: few enough to stay in a processor's
	// cache.
	passedAtOnce = 1 << 14
)

// Ascending calls f with all values in ascending order, many at a time. f must not keep the slice or change it. An
// error means that the temporary file could not be read, so that values are wrong.
//
// Many values are divided first: order statistics at equal distances bound the parts, which are Lists of the same
// Store until they are sorted one after the other.
func (l *List) Ascending(f func(values []int64)) error {
	if l.n <= sortedAtOnce {
		l.sortAll(nil, f)
		return l.store.Err()
	}
	var places []int
	for at := 0; at < l.n-1; at += sortedPart {
		places = append(places, at)
	}
	picked, err := l.Pick(append(places, l.n-1))
	if err != nil {
		return err
	}
	bounds := newBounds(picked)
	parts := make([]List, len(bounds.all)+1) // the values between the bounds
	for i := range parts {
		parts[i] = List{store: l.store, kind: l.kind}
		defer parts[i].Release()
	}
	equal := make([]int, len(bounds.all)) // values at the bounds
	for r := l.Reader(); ; {
		values := r.Next()
		if len(values) == 0 {
			break
		}
		for _, v := range values {
			if i, at := bounds.find(v); at {
				equal[i]++
			} else {
				parts[i].addOne(v)
			}
		}
	}
	var scratch []int64
	for i := range parts {
		scratch = parts[i].sortAll(scratch, f)
		parts[i].Release()
		if i < len(bounds.all) {
			repeat(bounds.all[i], equal[i], f)
		}
	}
	return l.store.Err()
}

// bounds holds ascending values. It finds values from the first to the last of them.
type bounds struct {
	all   []int64
	shift int
	first []int // of the bounds from all[0] + i<<shift on
}

const boundBits = 12

func newBounds(all []int64) *bounds {
	all = slices.Compact(all)
	span := uint64(all[len(all)-1]) - uint64(all[0])
	b := &bounds{all: all, shift: max(bits.Len64(span)-boundBits, 0)}
	for i, v := range all {
		for ; uint64(len(b.first)) <= (uint64(v)-uint64(all[0]))>>b.shift; b.first = append(b.first, i) {
		}
	}
	b.first = append(b.first, len(all))
	return b
}

// find returns the number of bounds below v, and whether the next one equals v.
func (b *bounds) find(v int64) (below int, equal bool) {
	i := (uint64(v) - uint64(b.all[0])) >> b.shift
	from := b.first[i]
	at, equal := slices.BinarySearch(b.all[from:b.first[i+1]], v)
	return from + at, equal
}

// sortAll calls f with all values in ascending order, which fit in memory. It sorts in the memory of scratch where
// that is large enough, and returns the scratch for the next call.
func (l *List) sortAll(scratch []int64, f func(values []int64)) []int64 {
	all := l.all()
	scratch = sortWith(all, scratch)
	for values := range slices.Chunk(all, passedAtOnce) {
		f(values)
	}
	return scratch
}

// repeat calls f with v, n times in all.
func repeat(v int64, n int, f func(values []int64)) {
	values := slices.Repeat([]int64{v}, min(n, passedAtOnce))
	for ; n > 0; n -= len(values) {
		f(values[:min(n, len(values))])
	}
}

// Sorted returns a List of the same Store with the values in ascending order.
func (l *List) Sorted() *List {
	sorted := l.store.NewList(l.kind)
	if l.Len() == 0 {
		return sorted
	}
	l.store.blocks.Fail(l.Ascending(func(values []int64) { sorted.Add(values...) }))
	if lost := l.n - sorted.n; lost > 0 { // the Store has the error
		sorted.Add(make([]int64, lost)...)
	}
	return sorted
}
