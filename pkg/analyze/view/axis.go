package view

import "math"

// mostBins is the number of bins of an axis at most. A column of a heat map is columnBins bins.
const (
	mostBins    = 2048
	columnBits  = 3
	columnBins  = 1 << columnBits
	mostColumns = mostBins / columnBins
)

// leastBinNS is the first width of bins.
const leastBinNS = 1000

// An axis divides a time of unknown length into bins of equal width. Bin i begins at (low+i)·width. low is
// a multiple of columnBins. The width doubles whenever the bins would be more than mostBins.
type axis struct {
	width int64 // 0 before the first time
	low   int64
	// first and last are the bins of the earliest and of the latest time, counted from time 0.
	first, last int64
}

// A move says where the bins of an axis went: bin i of before is bin (i+low)>>shift − newLow now.
type move struct {
	low, newLow int64
	shift       int
}

// of returns the new index of a bin.
func (m move) of(i int) int { return int((m.low+int64(i))>>m.shift - m.newLow) }

// column returns the new index of a column of columnBins bins.
func (m move) column(i int) int {
	return int((m.low>>columnBits+int64(i))>>m.shift - m.newLow>>columnBits)
}

// include makes the axis reach from a time to another one; moved says that bins went elsewhere.
func (a *axis) include(from, to int64) (m move, moved bool) {
	begun := a.width != 0
	if !begun {
		a.width, a.first, a.last = leastBinNS, math.MaxInt64, math.MinInt64
	}
	m.low = a.low
	first, last := min(a.first, floorDiv(from, a.width)), max(a.last, floorDiv(to, a.width))
	for last-first&^(columnBins-1) >= mostBins {
		a.width *= 2
		first, last = first>>1, last>>1
		m.shift++
	}
	a.first, a.last, a.low = first, last, first&^(columnBins-1)
	m.newLow = a.low
	return m, begun && (m.shift > 0 || m.low != m.newLow)
}

// at returns the bin of a time within the axis, and the time up to which it reaches.
func (a *axis) at(t int64) (bin int, end int64) {
	k := floorDiv(t, a.width)
	return int(k - a.low), (k + 1) * a.width
}

// bins returns the first bin in use and the number of bins in use.
func (a *axis) bins() (first, n int) {
	if a.width == 0 {
		return 0, 0
	}
	return int(a.first - a.low), int(a.last - a.first + 1)
}

// start returns the time at which a bin begins.
func (a *axis) start(bin int) int64 { return (a.low + int64(bin)) * a.width }

// floorDiv returns ⌊t/width⌋ of a width above 0.
func floorDiv(t, width int64) int64 {
	q := t / width
	if t%width < 0 {
		q--
	}
	return q
}

// moveBins moves mostBins bins with their axis; bins that join are added up.
func moveBins[T uint32 | float64](bins []T, m move) {
	var before [mostBins]T
	copy(before[:], bins)
	clear(bins)
	for i, n := range before {
		if n != 0 {
			bins[m.of(i)] += n
		}
	}
}
