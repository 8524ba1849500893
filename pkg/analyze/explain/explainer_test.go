package explain

import "testing"

func TestApart(t *testing.T) {
	for _, tt := range []struct {
		a, b  float64
		x, y  string
		about string
	}{
		{4.09, 5, "4.09", "5", "six digits"},
		{1.207240192, 1.207240133, "1.2072402", "1.2072401", "as many as it takes"},
		{0.1, 0.1, "0.1", "0.1", "the same"},
		{0.1, 0.1 + 1e-17, "0.1", "0.1", "the same after rounding"},
	} {
		if x, y := apart(tt.a, tt.b); x != tt.x || y != tt.y {
			t.Errorf("%s: %s, %s; want %s, %s", tt.about, x, y, tt.x, tt.y)
		}
	}
}
