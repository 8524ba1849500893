package inference

import (
	"encoding/binary"
	"math"
	"testing"
)

// For any values, nothing panics; an estimate lies in its interval, a wider level gives a wider
// interval, p-values are between 0 and 1, and a missing number has a reason.
func FuzzInference(f *testing.F) {
	add := func(tile uint16, values ...float64) {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		f.Add(b, tile, uint16(len(values)/2))
	}
	add(0)
	add(0, 1)
	add(300, 1, 2, 1, 2, 3)
	add(50, logAR(1, 40, 0.5, 1)...)
	add(1, math.NaN(), math.Inf(1), -1, 0, 1e308, -1e308, 5e-324)
	add(700, 5, 5, 5, 5, 5, 6)
	add(200, 1e-160, 2e-160, 1e150, 1e149)
	f.Fuzz(func(t *testing.T, b []byte, tile, split uint16) {
		var x []float64
		for ; len(b) >= 8; b = b[8:] {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		// Repeated with a change, so that few bytes make a long series.
		for i, n := 0, len(x); n > 0 && i < int(tile%1024) && len(x) < 5000; i++ {
			x = append(x, x[i%n]*(1+float64(i%7)/50))
		}
		cut := min(int(split), len(x))
		older, newer := x[:cut], x[cut:]
		o, n := NewSeries(older), NewSeries(newer)
		estimates := []Estimate{o.Mean(), n.Mean(), o.Quantile(0.5), n.Quantile(0.5), n.Quantile(0.99), Rate(older, newer), Rate(newer, newer)}
		estimates = append(estimates, Share(above(older, 1)), Share(above(newer, 1)))
		if len(older) > 0 && len(newer) > 0 {
			levels := []Level{{1, Attained(margins(older, 1))}, {2, Attained(margins(newer, 1))}, {4, Attained(margins(newer, 2))}}
			estimates = append(estimates, levels[0].Share, levels[1].Share, levels[2].Share)
			for _, target := range [...]float64{0.5, 0.99, levels[1].Share.Value} {
				if target > 0 && target < 1 {
					c := CrossingOf(levels, target, 0.95)
					checkCrossing(t, levels, &c)
				}
			}
		}
		pairs := NewPairs(older, newer)
		if both := min(len(older), len(newer)); split%8 != 0 {
			pairs = NewPairs(older[:both], newer[:both])
		}
		changes := []Comparison{
			Change(estimates[0], estimates[1]), Change(estimates[2], estimates[3]), Change(estimates[5], estimates[6]),
			Runs(older, newer), pairs.Mean(), pairs.Median(),
		}
		ps := []float64{}
		for i := range changes {
			c := &changes[i]
			checkInterval(t, c.NA, c.Interval, c.Change)
			if c.NA.Missing() != math.IsNaN(c.P) || c.P < 0 || c.P > 1 {
				t.Errorf("P = %v, %q", c.P, c.NA.Reason)
			}
			if (c.Verdict(c.P, 0.05, LowerIsBetter) == NotAvailable) != c.NA.Missing() {
				t.Errorf("verdict %v, %q", c.Verdict(c.P, 0.05, LowerIsBetter), c.NA.Reason)
			}
			if r := c.Rank; r != nil && r.NA.Missing() != math.IsNaN(r.P) || r != nil && (r.P < 0 || r.P > 1) {
				t.Errorf("rank test %+v", *r)
			}
			ps = append(ps, c.P)
			estimates = append(estimates, c.Old, c.New)
		}
		for i := range estimates {
			e := &estimates[i]
			checkInterval(t, e.NA, e.Interval, e.Value)
			if !(e.EffectiveN >= 0 && e.EffectiveN <= float64(e.N)) {
				t.Errorf("%v effective values of %d", e.EffectiveN, e.N)
			}
		}
		for i, p := range Holm(ps) {
			if math.IsNaN(p) != math.IsNaN(ps[i]) || p < ps[i] || p > 1 {
				t.Errorf("%v became %v", ps[i], p)
			}
		}
	})
}

func above(x []float64, limit float64) []bool {
	met := make([]bool, len(x))
	for i, v := range x {
		met[i] = v > limit
	}
	return met
}

func margins(x []float64, limit float64) []float32 {
	var all []float32
	for _, v := range x {
		all = append(all, float32(v-limit))
	}
	return all
}

// checkCrossing checks that the estimate lies in its interval, and the interval within the bounds.
func checkCrossing(t *testing.T, levels []Level, c *Crossing) {
	t.Helper()
	low, high := math.Inf(-1), math.Inf(1)
	if c.Within >= 0 {
		low = levels[c.Within].At
	}
	if c.Beyond >= 0 {
		high = levels[c.Beyond].At
	}
	if !(low <= c.Interval.Low && c.Interval.Low <= c.Interval.High && c.Interval.High <= high) ||
		math.IsInf(low, -1) != math.IsInf(c.Interval.Low, -1) || math.IsInf(high, 1) != math.IsInf(c.Interval.High, 1) ||
		!math.IsNaN(c.Value) && !c.Interval.Contains(c.Value) || c.Beyond >= 0 && c.Within >= c.Beyond {
		t.Errorf("%v in %v, bounds %v and %v", c.Value, c.Interval, low, high)
	}
}

func checkInterval(t *testing.T, na NA, at func(float64) Interval, value float64) {
	t.Helper()
	narrow, wide := at(0.5), at(0.99)
	if na.Missing() {
		if !math.IsNaN(narrow.Low) || !math.IsNaN(wide.High) {
			t.Errorf("an interval %v in spite of %q", wide, na.Reason)
		}
		return
	}
	// The value may be off the middle by rounding.
	slack := 1e-9 * (1 + math.Abs(value))
	if !(wide.Low <= narrow.Low && narrow.Low <= value+slack && value-slack <= narrow.High && narrow.High <= wide.High) {
		t.Errorf("%v not in %v in %v", value, narrow, wide)
	}
}
