package stat

import (
	"cmp"
	"runtime"
)

const (
	leastPick = 1 << 15 // values from which counting is faster than sorting
	mostParts = 8       // cores that count
)

// Pick returns the values at the indexes in ascending order: index 0 is the least value. The
// indexes are in ascending order, from 0 and below Len. Many values are counted in
// ranges, and only the ranges with an index are sorted. An error means that the temporary file
// could not be read.
func (l *List) Pick(indexes []int) ([]int64, error) {
	if l.n < leastPick {
		all := l.all()
		Sort(all)
		picked := make([]int64, len(indexes))
		for i, at := range indexes {
			picked[i] = all[at]
		}
		return picked, l.store.Err()
	}
	parts := l.passes()
	counter, err := l.count(parts)
	if err != nil {
		return nil, err
	}
	return counter.Pick(indexes, parts...)
}

// passes returns Replays that together pass all values on, one for each core.
func (l *List) passes() []Replay[int64] {
	parts := make([]Replay[int64], min(runtime.GOMAXPROCS(0), mostParts))
	for i := range parts {
		from, end := i*(len(l.blocks)+1)/len(parts), (i+1)*(len(l.blocks)+1)/len(parts)
		parts[i] = func(add AddFunc[int64]) error {
			r := l.readBlocks(from, end)
			for values := r.Next(); len(values) > 0; values = r.Next() {
				add(values, nil)
			}
			return l.store.Err()
		}
	}
	return parts
}

// count counts the values that parts together pass on.
func (l *List) count(parts []Replay[int64]) (*Counter[int64], error) {
	counters, errs := make([]Counter[int64], len(parts)), make([]error, len(parts))
	inParallel(len(parts), func(i int) { errs[i] = parts[i](counters[i].Add) })
	for i := range counters[1:] {
		counters[0].merge(&counters[i+1])
	}
	return &counters[0], cmp.Or(errs...)
}

// all returns the values in the order of Add.
func (l *List) all() []int64 {
	all := make([]int64, 0, l.n)
	for r := l.Reader(); len(all) < l.n; {
		all = append(all, r.Next()...)
	}
	return all
}
