package inference

import "math"

// A Level is a share at one of several levels of something, such as load.
type Level struct {
	At    float64
	Share Estimate
}

// Crossing estimates where the share falls below a target, if it changes in
// straight lines from level to level: the levels ascend, the share at levels[i]
// is the target or above, and that at levels[i+1] is below.
//
// The interval holds the places at which the share's own interval holds the
// target. Between two levels a and b, at the part x of the way, the share is
// (1−x)·a + x·b, and with the distances of the ends from a and b its interval
// reaches as far as
//
//	√( ((1−x)·distance of a)² + (x·distance of b)² ),
//
// end by end (Zou and Donner, Statistics in Medicine 27, 2008). The ends are
// looked for from the crossing outwards: below, as far as the first level that
// is surely above the target, and above, as far as the first that is surely
// below. They are infinite where there is none. Levels on the way of which
// nothing is known make it wider; without an interval at levels[i] and
// levels[i+1] there is none here.
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

// last returns where between two levels the share's interval is as it is at a for
// the last time; at b it is not. As the reach is convex, there is one such place.
// If nothing is known of one of them, it is a when is does not hold of what is
// not known, and b when it does.
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
	for range 53 { // as far as a float64 tells
		if mid := from + (to-from)/2; is(between(mid)) {
			from = mid
		} else {
			to = mid
		}
	}
	return a.At + from*(b.At-a.At)
}
