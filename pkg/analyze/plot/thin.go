package plot

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/svg"
)

// thin leaves at most about most points: of each of most/2 stretches of x of equal length the first
// with the least and the first with the greatest y. It returns the points in the order of x and the number left out. A
// point without y stays if a stretch has no other.
func thin(points []svg.Point, most int) (kept []svg.Point, leftOut int) {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b svg.Point) int { return cmp.Compare(a.X, b.X) })
	n := len(points)
	if n <= most {
		return points, 0
	}
	stretches := float64(max(1, most/2))
	first := points[0].X
	span := points[n-1].X - first
	stretch := func(i int) float64 {
		if !(span > 0) {
			return 0
		}
		return min(math.Floor((points[i].X-first)/span*stretches), stretches-1)
	}
	for from := 0; from < n; {
		s, least, greatest, to := stretch(from), from, from, from
		for ; to < n && stretch(to) == s; to++ {
			y := points[to].Y
			if math.IsNaN(points[least].Y) || y < points[least].Y {
				least = to
			}
			if math.IsNaN(points[greatest].Y) || y > points[greatest].Y {
				greatest = to
			}
		}
		a, b := min(least, greatest), max(least, greatest)
		kept = append(kept, points[a])
		if a != b {
			kept = append(kept, points[b])
		}
		from = to
	}
	return kept, n - len(kept)
}
