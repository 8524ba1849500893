package view

// counts are what a level counts in bins of time and in the cells of heat maps. Most of them are 0 in a level of
// few requests. So only the level of the last request has them; the other levels have packedCounts.
type counts struct {
	outputs            []float64 // output tokens of each bin
	completed, failed  []uint32  // requests by their ends
	byTime, byPosition grid
}

func newCounts() *counts {
	return &counts{
		outputs:   make([]float64, mostBins),
		completed: make([]uint32, mostBins), failed: make([]uint32, mostBins),
	}
}

// move moves all bins with their axis.
func (l *levelCollector) move(m move) {
	moveBins(l.outputs, m)
	moveBins(l.completed, m)
	if l.nFailed > 0 {
		moveBins(l.failed, m)
	}
	l.byTime.move(m)
}

// packedCounts are the counts that are not 0.
type packedCounts struct {
	outputs                               []cell[float64]
	completed, failed, byTime, byPosition []cell[uint32]
}

// pack packs the counts of the level and sets them to 0.
func (l *levelCollector) pack() {
	first, n := l.axis.bins()
	if n == 0 {
		return // no request had a time
	}
	p, end := &l.packed, first+n
	p.outputs = packed(nil, first, l.outputs[first:end])
	p.completed = packed(nil, first, l.completed[first:end])
	if l.nFailed > 0 {
		p.failed = packed(nil, first, l.failed[first:end])
	}
	p.byTime, p.byPosition = l.byTime.pack(), l.byPosition.pack()
}

// unpack sets the counts, which are 0.
func (c *counts) unpack(p *packedCounts) {
	unpack(p.outputs, c.outputs)
	unpack(p.completed, c.completed)
	unpack(p.failed, c.failed)
	c.byTime.unpack(p.byTime)
	c.byPosition.unpack(p.byPosition)
}

// A cell is a value that is not 0, and its place.
type cell[T uint32 | float64] struct {
	at int32
	n  T
}

// packed appends the values that are not 0 to cells, and sets them to 0. The first value is at a place.
func packed[T uint32 | float64](cells []cell[T], at int, values []T) []cell[T] {
	for i, n := range values {
		if n != 0 {
			cells = append(cells, cell[T]{int32(at + i), n})
			values[i] = 0
		}
	}
	return cells
}

// unpack sets the values at the places of cells.
func unpack[T uint32 | float64](cells []cell[T], values []T) {
	for _, c := range cells {
		values[c.at] = c.n
	}
}
