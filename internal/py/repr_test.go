package py

import (
	"math"
	"strconv"
	"testing"
)

// The texts are what CPython 3 prints.
func TestRepr(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-2, "-2.0"},
		{0.1, "0.1"},
		{1.0 / 3, "0.3333333333333333"},
		{0.003090155677419355, "0.003090155677419355"},
		{100, "100.0"},
		{0.0001, "0.0001"}, // the last positional one
		{0.00012345, "0.00012345"},
		{0.00001, "1e-05"},
		{0.000012345, "1.2345e-05"},
		{1e-9, "1e-09"},
		{-5e-10, "-5e-10"},
		{1e15, "1000000000000000.0"},
		{9999999999999998, "9999999999999998.0"}, // the last positional one
		{1e16, "1e+16"},
		{1.5e16, "1.5e+16"},
		{123456789012345680, "1.2345678901234568e+17"},
		{1e22, "1e+22"},
		{1e100, "1e+100"},
		{5e-324, "5e-324"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.Inf(1), "inf"},
		{math.Inf(-1), "-inf"},
		{math.NaN(), "nan"},
	} {
		if got := Repr(tt.f); got != tt.want {
			t.Errorf("Repr(%g) = %q, want %q", tt.f, got, tt.want)
		}
	}
}

func FuzzRepr(f *testing.F) {
	f.Add(uint64(0))
	f.Add(math.Float64bits(1e16))
	f.Add(math.Float64bits(0.0001))
	f.Fuzz(func(t *testing.T, bits uint64) {
		x := math.Float64frombits(bits)
		if math.IsNaN(x) {
			return
		}
		back, err := strconv.ParseFloat(Repr(x), 64)
		if err != nil || math.Float64bits(back) != bits {
			t.Errorf("Repr(%g) = %q, which reads back as %g, %v", x, Repr(x), back, err)
		}
	})
}
