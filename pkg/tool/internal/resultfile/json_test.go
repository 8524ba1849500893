package resultfile

import "testing"

// The rounding that says which nanosecond a float meant.
func TestNanoseconds(t *testing.T) {
	for _, tt := range []struct {
		seconds float64
		want    uint64
		ok      bool
	}{
		{0, 0, true},
		{4017.630848094, 4017630848094, true},
		{0.0243734199998471, 24373420, true},
		{8.032000096136471e-06, 8032, true},
		{1795262415.3429804, 1795262415342980385, true}, // the float is 19 ns below what it stands for
		{0.9999999999, 1000000000, true},
		{1e-10, 0, true},
		{-1, 0, false},
		{1e10, 0, false}, // more than 292 years
		{9.2e9, 9200000000000000000, true},
	} {
		if got, ok := Nanoseconds(tt.seconds); got != tt.want || ok != tt.ok {
			t.Errorf("nanoseconds(%v) = %d, %v, want %d, %v", tt.seconds, got, ok, tt.want, tt.ok)
		}
	}
}
