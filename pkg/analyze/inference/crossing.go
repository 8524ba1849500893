package inference

import "math"

// A Level is a share at one of several levels of something, such as load.
type Level struct {
	At    float64
	Share Estimate
}

// Crossing estimates where the share falls below a target, if it changes in
// straight lines from level to level. The levels ascend; the share at levels[i]
// is the target or above, and the share at levels[i+1] is below.
//
// The interval contains the places at which the interval of the share contains
// the target. Between two levels a and b, at the part x of the way, the share is
// (1−x)·a + x·b. Its interval combines the distances of the ends from a and b:
//
//	√( ((1−x)·distance of a)² + (x·distance of b)² ),
//
// end by end (Zou and Donner, Statistics in Medicine 27, 2008). The search for the
// ends starts at the crossing. It goes down to the first level whose share is
// surely above the target, and up to the first whose share is surely below. An end
// without such a level is infinite. Levels without an interval on the way make the
// result wider; if levels[i] or levels[i+1] has no interval, neither has the result.
func Crossing(levels []Level, target float64, i int) Estimate {
	if i < 0 || i+1 >= len(levels) || !(levels[i].Share.Value >= target && levels[i+1].Share.Value < target) {
		return unavailable(math.NaN(), 0, "the share does not fall below the target there")
	}
	a, b := &levels[i], &levels[i+1]
	part := (a.Share.Value - target) / (a.Share.Value - b.Share.Value)
	e := Estimate{Value: a.At + part*(b.At-a.At), N: a.Share.N + b.Share.N}
	for _, l := range [...]*Level{a, b} {
		if l.Share.NA.Missing() {
			e.NA = l.Share.NA
			return e
		}
	}
	e.pivot = pivot{waves, func(t float64) Interval {
		low, high := i, i+1
		for low >= 0 && !(levels[low].ends(t).Low >= target) {
			low--
		}
		for high < len(levels) && !(levels[high].ends(t).High < target) {
			high++
		}
		ends := Interval{math.Inf(-1), math.Inf(1)}
		if low >= 0 {
			ends.Low = last(&levels[low], &levels[low+1], t, func(between Interval) bool { return between.Low >= target })
		}
		if high < len(levels) {
			ends.High = last(&levels[high-1], &levels[high], t, func(between Interval) bool { return !(between.High < target) })
		}
		return ends
	}}
	return e
}

// ends returns the ends of the share's interval, NaN if it has none.
func (l *Level) ends(t float64) Interval {
	if l.Share.NA.Missing() {
		return none()
	}
	return l.Share.pivot.ends(t)
}

// last returns the last place between the levels a and b at which is holds for the
// share's interval; it holds at a and not at b. There is one such place, because
// the reach is convex. If one of the levels has no interval, last returns a if is
// does not hold for no interval, and b if it does.
func last(a, b *Level, t float64, is func(Interval) bool) float64 {
	atA, atB := a.ends(t), b.ends(t)
	between := func(x float64) Interval {
		share := (1-x)*a.Share.Value + x*b.Share.Value
		reach := func(a, b float64) float64 { return math.Hypot((1-x)*a, x*b) }
		return Interval{
			share - reach(a.Share.Value-atA.Low, b.Share.Value-atB.Low),
			share + reach(atA.High-a.Share.Value, atB.High-b.Share.Value),
		}
	}
	from, to := 0.0, 1.0
	for range 53 { // the precision of a float64
		if mid := from + (to-from)/2; is(between(mid)) {
			from = mid
		} else {
			to = mid
		}
	}
	return a.At + from*(b.At-a.At)
}
