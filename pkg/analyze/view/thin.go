package view

import "math"

// mostPoints is the number of points of a series of instants at most.
const mostPoints = 2000

// A thinner collects the points of a series of unknown length. When it has too many, it keeps the minimum
// and the maximum of each stretch of time, and the first and the last point. Stretches double their width
// when they are too many. The zero value is empty.
type thinner struct {
	at    []int64
	value []float64
	n     int   // points added
	width int64 // of a stretch; 0 while all points are kept
}

// add adds a point; times must not descend. It leaves out values that are no numbers.
func (t *thinner) add(at int64, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	if len(t.at) >= 2*mostPoints {
		t.thin()
	}
	t.n++
	t.at, t.value = append(t.at, at), append(t.value, value)
}

// thin leaves at most mostPoints points.
func (t *thinner) thin() {
	n := len(t.at)
	if n <= mostPoints {
		return
	}
	const stretches = mostPoints/2 - 1 // and the two ends
	t.width = max(t.width, 1)
	for floorDiv(t.at[n-1], t.width)-floorDiv(t.at[0], t.width) >= stretches {
		t.width *= 2
	}
	kept, from := 0, 0
	for i := 1; i <= n; i++ {
		if i < n && floorDiv(t.at[i], t.width) == floorDiv(t.at[from], t.width) {
			continue
		}
		kept = t.keepEnds(kept, from, i)
		from = i
	}
	t.at, t.value = t.at[:kept], t.value[:kept]
}

// keepEnds moves the minimum and the maximum of a stretch to place kept, and the first and the last point of
// all. It returns the place after them.
func (t *thinner) keepEnds(kept, from, to int) int {
	least, most := from, from
	for i := from; i < to; i++ {
		if t.value[i] < t.value[least] {
			least = i
		}
		if t.value[i] > t.value[most] {
			most = i
		}
	}
	last := -1
	keep := func(i int) {
		if i > last {
			t.at[kept], t.value[kept] = t.at[i], t.value[i] // kept <= i
			kept++
			last = i
		}
	}
	if from == 0 {
		keep(0)
	}
	keep(min(least, most))
	keep(max(least, most))
	if to == len(t.at) {
		keep(to - 1)
	}
	return kept
}

// fill sets the points of s.
func (t *thinner) fill(s *Series) {
	t.thin()
	s.AtNS, s.Value, s.LeftOut = t.at, t.value, t.n-len(t.at)
}
