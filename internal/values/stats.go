package values

import (
	"iter"

	"github.com/pa-tools/pa/internal/extsort"
	"github.com/pa-tools/pa/internal/numpy"
)

// Sum returns numpy.Sum of the values in their order.
func (l *List) Sum(v numpy.Version) float64 {
	if l.Len() == 0 {
		return 0
	}
	return numpy.SumOf(v, l.kind == Whole, l.n, l.numbers())
}

// Mean returns numpy.Mean of the values in their order. There must be one.
func (l *List) Mean(v numpy.Version) float64 { return l.Sum(v) / float64(l.n) }

// MeanStd returns numpy.Mean and numpy.Std of the values in their order. There must be one.
func (l *List) MeanStd(v numpy.Version) (mean, std float64) {
	mean = l.Mean(v)
	return mean, numpy.StdOf(v, l.n, mean, l.numbers())
}

// Percentiles returns numpy.Percentile of the values for each percentage. There must be a
// value.
func (l *List) Percentiles(percentages ...float64) []float64 {
	var ranks []int
	for _, p := range percentages {
		i := numpy.Rank(l.n, p)
		ranks = append(ranks, i, min(i+1, l.n-1))
	}
	at := l.Ranked(ranks...)
	all := make([]float64, len(percentages))
	for i, p := range percentages {
		all[i] = numpy.Interpolate(l.n, p, at[2*i], at[2*i+1])
	}
	return all
}

// Bounds returns the least and the most of the values. There must be one.
func (l *List) Bounds() (least, most float64) {
	a, b := l.bounds()
	ends := l.kind.numbers(nil, []int64{a, b})
	return ends[0], ends[1]
}

// Ranked returns the numbers at these indices of the values in ascending order.
func (l *List) Ranked(ranks ...int) []float64 {
	return l.kind.numbers(nil, l.ranked(ranks))
}

// SortedStd returns numpy.Std of the values in ascending order. There must be one. Sorting
// takes as much memory as the Store may, and 12 MiB.
func (l *List) SortedStd(v numpy.Version) float64 {
	sorter, done := l.sorter()
	defer done()
	var floats []float64
	numbers := func() func() []float64 {
		pull, stop := iter.Pull(func(yield func([]int64) bool) {
			l.store.blocks.Fail(sorter.Sorted(func(block []int64) { yield(block) }))
		})
		left := l.n
		return func() []float64 {
			block, ok := pull()
			if !ok { // lost, which the Store tells
				block = make([]int64, left)
			}
			if left -= len(block); left == 0 {
				stop()
			}
			floats = l.kind.numbers(floats[:0], block)
			return floats
		}
	}
	mean := numpy.SumOf(v, l.kind == Whole, l.n, numbers()) / float64(l.n)
	return numpy.StdOf(v, l.n, mean, numbers())
}

// Sorted returns a List of the same Store with the values in ascending order. Sorting takes as much memory
// as SortedStd.
func (l *List) Sorted() *List {
	sorted := l.store.NewList(l.kind)
	if l.Len() == 0 {
		return sorted
	}
	sorter, done := l.sorter()
	defer done()
	l.store.blocks.Fail(sorter.Sorted(func(block []int64) { sorted.Add(block...) }))
	if lost := l.n - sorted.n; lost > 0 { // which the Store tells
		sorted.Add(make([]int64, lost)...)
	}
	return sorted
}

// sorter returns a Sorter of the values, and a function that ends its use.
func (l *List) sorter() (sorter *extsort.Sorter, done func()) {
	memory := extsort.NewMemory(l.store.max, l.store.dir)
	sorter = memory.NewSorter()
	next := l.Open()
	for block := next(); len(block) > 0; block = next() {
		sorter.Add(block...)
	}
	return sorter, func() { l.store.blocks.Fail(memory.Close()) }
}
