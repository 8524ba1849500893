package report

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
)

// Each limit and the float just below it: the number of digits must not change
// by rounding.
func TestNumber(t *testing.T) {
	below := func(f float64) float64 { return math.Nextafter(f, 0) }
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{0.00001, "0.0000"},
		{0.1234, "0.1234"},
		{below(0.99995), "0.9999"},
		{0.99995, "1.000"},
		{1, "1.000"},
		{below(9.9995), "9.999"},
		{9.9995, "10.00"},
		{12.344, "12.34"},
		{below(99.995), "99.99"},
		{99.995, "100.0"},
		{below(999.95), "999.9"},
		{999.95, "1000"},
		{123456.7, "123457"},
		{-12.344, "-12.34"},
	} {
		if got := number(tt.v); got != tt.want {
			t.Errorf("number(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{{0, "0"}, {6, "6"}, {6.5, "6.50"}, {123.456, "123.5"}, {1234.5, "1234"}, {1e6, "1000000"}} {
		if got := count(tt.v); got != tt.want {
			t.Errorf("count(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		ns   float64
		want string
	}{
		{0, "0 ms"},
		{1, "1.000 ns"},
		{999, "999.0 ns"},
		{1000, "1.000 µs"},
		{12_344_000, "12.34 ms"},
		{1e9, "1.000 s"},
		{3.6e12, "3600 s"},
		{-5e6, "-5.000 ms"},
	} {
		if got := span(tt.ns); got != tt.want {
			t.Errorf("span(%v) = %q, want %q", tt.ns, got, tt.want)
		}
	}
}

// All figures of a row are in the unit of the mean.
func TestRowFormat(t *testing.T) {
	m := analyze.Metric{Definition: &analyze.Strict[0], Summary: &analyze.Summary{Mean: 123_456_789}}
	f := rowFormat(m)
	if got := f.text(1_000) + " " + f.text(123_456_789) + " " + f.text(5e9) + " " + f.name; got != "0.0 123.5 5000.0 ms" {
		t.Errorf("row %q", got)
	}
}
