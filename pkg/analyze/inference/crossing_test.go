package inference

import (
	"math"
	"testing"
)

// given is a level with a share whose interval always has these ends; NaN is
// none.
func given(at, share, below, above float64) Level {
	e := Estimate{Value: share, N: 100, pivot: pivot{waves, func(float64) Interval { return Interval{share - below, share + above} }}}
	if math.IsNaN(below) {
		e = unavailable(share, 100, "too few")
	}
	return Level{at, e}
}

func TestCrossing(t *testing.T) {
	inf, na := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		name             string
		levels           []Level
		i                int
		value, low, high float64
		reason           string
	}{
		// From 2 to 4 the share is 0.93 − 0.1x. It is √((0.02(1−x))² + (0.03x)²)
		// away from 0.9 where 0.0087x² − 0.0052x + 0.0005 = 0, at x = 0.12041 and
		// x = 0.47729.
		{"between two levels", []Level{given(1, 0.99, 0.005, 0.005), given(2, 0.93, 0.02, 0.02), given(4, 0.83, 0.03, 0.03)}, 1, 2.6, 2.240823, 2.954579, ""},
		// The two ends may differ in reach.
		{"sure on one side", []Level{given(2, 0.93, 0, 0.02), given(4, 0.83, 0, 0.03)}, 0, 2.6, 2.6, 2.954579, ""},
		// The level below is not surely above 0.9, the one below that is; from 1
		// to 2 the share is 0.95 − 0.02x and its reach 0.05x: at x = 0.05/0.07.
		{"beyond the level below", []Level{given(1, 0.95, 0, 0), given(2, 0.93, 0.05, 0), given(4, 0.83, 0, 0)}, 1, 2.6, 1 + 5./7, 2.6, ""},
		// The same upwards: from 4 to 6 the share is 0.85 − 0.1x, its reach
		// 0.1(1−x): they meet at x = 0.25.
		{"beyond the level above", []Level{given(2, 0.95, 0, 0), given(4, 0.85, 0, 0.1), given(6, 0.75, 0, 0)}, 0, 3, 3, 4.5, ""},
		{"no level is surely above", []Level{given(1, 0.95, 0.1, 0.05), given(2, 0.93, 0.1, 0.05), given(4, 0.83, 0, 0)}, 1, 2.6, -inf, 0, ""},
		{"no level is surely below", []Level{given(2, 0.93, 0, 0), given(4, 0.83, 0.1, 0.1), given(8, 0.9, 0.1, 0.1)}, 0, 2.6, 0, inf, ""},
		// A level of which nothing is known bounds nothing, nor do lines to it.
		{"unknown on the way", []Level{given(1, 0.99, 0, 0), given(2, 1, na, na), given(3, 0.93, 0.05, 0.05), given(4, 0.83, 0.01, 0.1), given(5, 0, na, na), given(6, 0.5, 0, 0)}, 2, 3.3, 1, 6, ""},
		{"unknown at one of the two", []Level{given(2, 0.93, na, na), given(4, 0.83, 0, 0)}, 0, 2.6, na, na, "too few"},
		{"unknown at the other", []Level{given(2, 0.93, 0, 0), given(4, 0.83, na, na)}, 0, 2.6, na, na, "too few"},
		{"no crossing there", []Level{given(2, 0.8, 0, 0), given(4, 0.83, 0, 0)}, 0, na, na, na, "the share does not fall below the target there"},
		{"no next level", []Level{given(2, 0.95, 0, 0)}, 0, na, na, na, "the share does not fall below the target there"},
		{"no such level", []Level{given(2, 0.95, 0, 0)}, -1, na, na, na, "the share does not fall below the target there"},
	} {
		e := Crossing(tt.levels, 0.9, tt.i)
		ends := e.Interval(0.95)
		near := func(got, want float64) bool {
			return got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) < 1e-6
		}
		if tt.low != 0 && !near(ends.Low, tt.low) || tt.high != 0 && !near(ends.High, tt.high) || !near(e.Value, tt.value) || e.NA.Reason != tt.reason {
			t.Errorf("%s: %v in %v (%s), want %v in %v to %v (%s)", tt.name, e.Value, ends, e.NA.Reason, tt.value, tt.low, tt.high, tt.reason)
		}
	}
}
