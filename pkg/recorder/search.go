package recorder

import "github.com/pa-tools/pa/pkg/recorder/load"

// A Plan chooses the levels of a run. It is told what those gave that are done, and
// returns the next one; ok is false when there is none, which it must not be for
// the first. It is called again with the same ones.
type Plan func(done []Level) (next load.Level, ok bool)

// Within reports whether the latency of the level is known, and below the limit. A
// level of which no request was successful in what is reported of it has none. Being
// stable does not matter: perf_analyzer takes a level that is not for one over the
// limit.
func (l *Level) Within() bool { return l.Reported.Requests > 0 && !l.OverLimit }

// LinearSearch returns a Plan that measures one level after the other, up to the
// first that is not within Measure.LatencyLimit. at returns the level of an index;
// ok is false behind the last.
func LinearSearch(at func(i int) (level load.Level, ok bool)) Plan {
	return func(done []Level) (load.Level, bool) {
		if n := len(done); n > 0 && !done[n-1].Within() {
			return nil, false
		}
		return at(len(done))
	}
}

// BinarySearch returns a Plan that searches between two loads for the highest within
// Measure.LatencyLimit, as perf_analyzer does: it measures from, if that is within
// to, and if that is not it halves what is between the highest load that was and the
// lowest that was not, until these are no more than step apart:
//
//	mid = (within + over) / 2, while over − within > step
//
// Whole numbers are halved downwards. from must not be above to, step must be above
// 0. level makes a level of a load.
func BinarySearch[T int | float64](from, to, step T, level func(T) load.Level) Plan {
	return func(done []Level) (load.Level, bool) {
		switch n := len(done); {
		case n == 0:
			return level(from), true
		case !done[0].Within() || from == to:
			return nil, false
		case n == 1:
			return level(to), true
		case done[1].Within():
			return nil, false
		}
		within, over := from, to
		for i := range done[2:] {
			if mid := (within + over) / 2; done[2+i].Within() {
				within = mid
			} else {
				over = mid
			}
		}
		mid := (within + over) / 2
		// Below a step that is too small for them numbers have no middle.
		if over-within <= step || mid <= within || mid >= over {
			return nil, false
		}
		return level(mid), true
	}
}
