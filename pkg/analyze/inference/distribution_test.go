package inference

import (
	"math"
	"testing"
)

// The quantile and the tail are each other's inverse, and the mean's interval is the
// textbook one on logarithms.
func TestDistribution(t *testing.T) {
	if got := StudentQuantile(0.95, 4); math.Abs(got-2.776445) > 1e-6 { // table of Student's t
		t.Errorf("quantile %v, want 2.776445", got)
	}
	if got := StudentUpper(2.776445105, 4); math.Abs(got-0.025) > 1e-9 {
		t.Errorf("tail %v, want 0.025", got)
	}
	values := []float64{100, 110, 121}
	e := GeometricMean(values)
	half := 4.302653 * math.Log(1.1) / math.Sqrt(3)
	i := e.Interval(0.95)
	if math.Abs(e.Value-110) > 1e-9 || math.Abs(math.Log(i.High/110)-half) > 1e-6 || math.Abs(math.Log(110/i.Low)-half) > 1e-6 {
		t.Errorf("%v (%v to %v), want 110 with half of %v on logarithms", e.Value, i.Low, i.High, half)
	}
	if e := GeometricMean(values[:2]); !e.NA.Missing() {
		t.Error("two runs have an interval")
	}
}
