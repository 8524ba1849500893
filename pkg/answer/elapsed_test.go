package answer

import (
	"math"
	"testing"
)

func TestElapsed(t *testing.T) {
	for _, tt := range []struct {
		from, to uint64
		want     int64
		ok       bool
	}{
		{5, 8, 3, true},
		{8, 5, -3, true},
		{7, 7, 0, true},
		{0, math.MaxInt64, math.MaxInt64, true},
		{0, math.MaxInt64 + 1, 0, false}, // too long
		{math.MaxInt64 + 1, 0, math.MinInt64, true},
		{math.MaxUint64, 0, 0, false},
		{0, math.MaxUint64, 0, false},
	} {
		got := Elapsed(tt.from, tt.to)
		if got.OK != tt.ok || got.OK && got.V != tt.want {
			t.Errorf("Elapsed(%d, %d) = %v, want %d, %v", tt.from, tt.to, got, tt.want, tt.ok)
		}
	}
}
