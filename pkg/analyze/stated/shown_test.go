package stated

import (
	"math"
	"testing"
)

func TestShown(t *testing.T) {
	for _, tt := range []struct {
		text string
		v    float64
		want string
	}{
		{"128", 128, "128"},
		{"5.8590", 5.859, "5.8590"},
		{"1.3653671270003542", 1.3653671270003542, "1.36537"},
		{"0.00000012345678", 1.2345678e-07, "1.23457e-07"},
		{"1785123456.123456", 1785123456.123456, "1785123456.1"},
		{"123456789012", 123456789012, "123456789012"},
		{"n/a", math.NaN(), "n/a"},
	} {
		if got := (&Figure{Text: tt.text, Value: tt.v}).shown(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
}
