package view

import "math"

// mostPoints is the number of points of a series of instants at most.
const mostPoints = 2000

// A thinner collects the points of a series of unknown length. When it has too many, it keeps the minimum
// and the maximum of each stretch of time, and the first and the last point. The zero value is empty.
type thinner struct {
	at    []int64
	value []float64
	n     int // points added
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
	const stretches = mostPoints/2 - 1 // and the two ends
	n := len(t.at)
	if n <= mostPoints {
		return
	}
	first, span := t.at[0], max(float64(t.at[n-1])-float64(t.at[0]), 1)
	stretch := func(i int) int {
		return min(int((float64(t.at[i])-float64(first))/span*stretches), stretches-1)
	}
	kept := 0
	keep := func(i int) {
		t.at[kept], t.value[kept] = t.at[i], t.value[i] // kept <= i
		kept++
	}
	for from := 0; from < n; {
		least, most, s := from, from, stretch(from)
		to := from
		for ; to < n && stretch(to) == s; to++ {
			if t.value[to] < t.value[least] {
				least = to
			}
			if t.value[to] > t.value[most] {
				most = to
			}
		}
		a, b := min(least, most), max(least, most)
		if from == 0 && a > 0 {
			keep(0)
		}
		keep(a)
		if b > a {
			keep(b)
		}
		if to == n && b < n-1 {
			keep(n - 1)
		}
		from = to
	}
	t.at, t.value = t.at[:kept], t.value[:kept]
}

// fill sets the points of s.
func (t *thinner) fill(s *Series) {
	t.thin()
	s.AtNS, s.Value, s.LeftOut = t.at, t.value, t.n-len(t.at)
}
