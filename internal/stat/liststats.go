package stat

import "slices"

// Sum returns NumpySum of the values in their order.
func (l *List) Sum(v NumpyVersion) float64 {
	if l.Len() == 0 {
		return 0
	}
	return numpySumOf(l.kind == Whole || v == NumpyBefore23, l.n, l.numbers())
}

// Mean returns NumpyMean of the values in their order. There must be one.
func (l *List) Mean(v NumpyVersion) float64 { return l.Sum(v) / float64(l.n) }

// MeanStd returns NumpyMean and NumpyStd of the values in their order. There must be one.
func (l *List) MeanStd(v NumpyVersion) (mean, std float64) {
	mean = l.Mean(v)
	return mean, numpyStdOf(v, l.n, mean, l.numbers())
}

// SortedStd returns NumpyStd of the values in ascending order. There must be one.
func (l *List) SortedStd(v NumpyVersion) float64 {
	sorted := l.Sorted()
	defer sorted.Release()
	_, std := sorted.MeanStd(v)
	return std
}

// Percentiles returns NumpyPercentile of the values for each percentage. There must be a
// value.
func (l *List) Percentiles(percentages ...float64) []float64 {
	var ranks []int
	for _, p := range percentages {
		i := NumpyRank(l.n, p)
		ranks = append(ranks, i, min(i+1, l.n-1))
	}
	at := l.Ranked(ranks...)
	all := make([]float64, len(percentages))
	for i, p := range percentages {
		all[i] = NumpyInterpolate(l.n, p, at[2*i], at[2*i+1])
	}
	return all
}

// Bounds returns the least and the most of the values. There must be one.
func (l *List) Bounds() (least, most float64) {
	a, b := l.min, l.max
	for i, v := range l.last {
		if i == 0 && len(l.blocks) == 0 {
			a, b = v, v
		}
		a, b = min(a, v), max(b, v)
	}
	ends := l.kind.numbers(nil, []int64{a, b})
	return ends[0], ends[1]
}

// Ranked returns the numbers at these indices of the values in ascending order. The Store's Err tells if the
// temporary file could not be read.
func (l *List) Ranked(ranks ...int) []float64 {
	indexes := slices.Compact(slices.Sorted(slices.Values(ranks)))
	picked, err := l.Pick(indexes)
	if err != nil {
		return make([]float64, len(ranks))
	}
	all := make([]int64, len(ranks))
	for i, rank := range ranks {
		at, _ := slices.BinarySearch(indexes, rank)
		all[i] = picked[at]
	}
	return l.kind.numbers(nil, all)
}
