package stat

import (
	"math"
	"testing"
)

func TestSaturatingAdd(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, tt := range []struct{ a, b, want int64 }{
		{2, 3, 5},
		{-2, 3, 1},
		{most, 0, most},
		{most, 1, most},
		{most, most, most},
		{most - 1, 1, most},
		{least, 0, least},
		{least, -1, least},
		{least, least, least},
		{least + 1, -1, least},
		{most, least, -1},
	} {
		if got := SaturatingAdd(tt.a, tt.b); got != tt.want {
			t.Errorf("SaturatingAdd(%d, %d) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := SaturatingAdd(tt.b, tt.a); got != tt.want {
			t.Errorf("SaturatingAdd(%d, %d) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
