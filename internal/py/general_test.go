package py

import (
	"math"
	"testing"
)

// The texts are what CPython 3 prints for f"{f:g}".
func TestGeneral(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{300, "300"},
		{300.5, "300.5"},
		{100000, "100000"},
		{1e6, "1e+06"},
		{123456.5, "123456"},
		{1234567, "1.23457e+06"},
		{0.0001, "0.0001"},
		{0.00001, "1e-05"},
		{-0.25, "-0.25"},
		{2.0 / 3, "0.666667"},
		{math.NaN(), "nan"},
		{math.Inf(-1), "-inf"},
	} {
		if got := General(tt.f); got != tt.want {
			t.Errorf("General(%v) = %q, want %q", tt.f, got, tt.want)
		}
	}
}
