package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/svg"
)

// A mark is a candidate for a point of a chart. It takes far less memory than an [svg.Point], and thin leaves out most
// marks of a large run.
type mark struct {
	x, y float64
	id   uint64 // of the request, for requestPoints
}

// points returns the points of marks.
func points(marks []mark) (all []svg.Point) {
	for _, m := range marks {
		all = append(all, svg.Point{X: m.x, Y: m.y})
	}
	return all
}

// requestPoints returns the points of marks, each named after its request.
func requestPoints(marks []mark) []svg.Point {
	all := points(marks)
	for i, m := range marks {
		all[i].Title = fmt.Sprintf("request %d", m.id)
	}
	return all
}

// thin leaves at most about most marks. It divides x into most/2 stretches of equal length and keeps two marks of
// each: the first with the least y and the first with the greatest y. A mark without y stays if a stretch has
// no other mark. thin returns the kept marks in the order of x, and the number of marks left out. It may reorder marks.
func thin(marks []mark, most int) (kept []mark, leftOut int) {
	byX := func(a, b mark) int { return cmp.Compare(a.x, b.x) }
	if !slices.IsSortedFunc(marks, byX) {
		slices.SortStableFunc(marks, byX)
	}
	n := len(marks)
	if n <= most {
		return marks, 0
	}
	stretches := float64(max(1, most/2))
	first := marks[0].x
	span := marks[n-1].x - first
	stretch := func(i int) float64 {
		if !(span > 0) {
			return 0
		}
		return min(math.Floor((marks[i].x-first)/span*stretches), stretches-1)
	}
	for from := 0; from < n; {
		s, least, greatest, to := stretch(from), from, from, from
		for ; to < n && stretch(to) == s; to++ {
			y := marks[to].y
			if math.IsNaN(marks[least].y) || y < marks[least].y {
				least = to
			}
			if math.IsNaN(marks[greatest].y) || y > marks[greatest].y {
				greatest = to
			}
		}
		a, b := min(least, greatest), max(least, greatest)
		kept = append(kept, marks[a])
		if a != b {
			kept = append(kept, marks[b])
		}
		from = to
	}
	return kept, n - len(kept)
}
