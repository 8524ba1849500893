package svg

import (
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		axis   Axis
		values []float64
		want   string // labels from first to last
		label  string
	}{
		{"counts", Axis{Label: "requests"}, []float64{0, 97}, "0 20 40 60 80 100", "requests"},
		{"thousands", Axis{Unit: "tokens/s"}, []float64{0, 24_000}, "0 5,000 10,000 15,000 20,000 25,000", "tokens/s"},
		{"millions", Axis{Label: "rate", Unit: "tokens/s"}, []float64{0, 2.4e6}, "0.0 0.5 1.0 1.5 2.0 2.5", "rate (million tokens/s)"},
		{"below 0", Axis{}, []float64{-12, 30}, "-20 -10 0 10 20 30", ""},
		{"not from 0", Axis{}, []float64{101.2, 101.9}, "101.2 101.4 101.6 101.8 102.0", ""},
		{"one value", Axis{}, []float64{8}, "4 6 8 10 12", ""},
		{"zeros", Axis{}, []float64{0, 0}, "0.0 0.2 0.4 0.6 0.8 1.0", ""},
		{"tight", Axis{Tight: true}, []float64{3, 97}, "20 40 60 80", ""},
		{"one unit: ms", Axis{Label: "TTFT", Unit: Nanoseconds}, []float64{120_000, 87e6}, "0 20 40 60 80 100", "TTFT (ms)"},
		{"one unit: s", Axis{Label: "TTFT", Unit: Nanoseconds, Include: []float64{0}}, []float64{1.21e9}, "0.0 0.5 1.0 1.5", "TTFT (s)"},
		{"µs", Axis{Unit: Nanoseconds}, []float64{0, 430_000}, "0 100 200 300 400 500", "µs"},
		{"minutes", Axis{Unit: Nanoseconds, Tight: true}, []float64{0, 1500e9}, "0 5 10 15 20 25", "min"},
		{"hours", Axis{Unit: Nanoseconds, Tight: true}, []float64{0, 5 * 3600e9}, "0 1 2 3 4 5", "h"},
		{"percent", Axis{Unit: Share}, []float64{0, 0.97}, "0 20 40 60 80 100", "%"},
		{"no share", Axis{Unit: Share}, []float64{0, 0}, "0.0 0.2 0.4 0.6 0.8 1.0", "%"},
		{"log", Axis{Scale: Log, Unit: Nanoseconds}, []float64{3e6, 700e6}, "2 5 10 20 50 100 200 500 1,000", "ms"},
		{"log, decades", Axis{Scale: Log}, []float64{1, 1e6}, "1 10 100 1,000 10,000 100,000 1,000,000", ""},
		{"log, many decades", Axis{Scale: Log}, []float64{1e-9, 1e9}, "1e-09 0.000001 0.001 1 1,000 1,000,000 1,000,000,000", ""},
		{"log, short", Axis{Scale: Log}, []float64{110, 180}, "100 120 140 160 180", ""},
		{"log, one value", Axis{Scale: Log}, []float64{64}, "20 50 100 200", ""},
		{"log, some at 0 or below", Axis{Scale: Log}, []float64{-3, 0, 1, 9}, "1 2 5 10", ""},
		{"percentiles", Axis{Scale: Tail}, []float64{0, 99.95, 100}, "0 50 75 90 99 99.9", ""},
		{"percentiles, few", Axis{Scale: Tail}, []float64{0, 95}, "0 50 75 90", ""},
		{"names", Axis{Scale: Names, Names: []string{"a", "b"}}, nil, "a b", ""},
		{"own ticks", Axis{Scale: Log, Ticks: []float64{1, 3, 9, 500}}, []float64{1, 9}, "1 3 9", ""},
		{"absent", Axis{Unit: Nanoseconds}, []float64{math.NaN(), math.Inf(1)}, "", ""},
		{"huge", Axis{}, []float64{-9e299, 9e299}, "-5e+299 0 5e+299", ""},
		{"tiny", Axis{}, []float64{0, 5e-324}, "0 1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRuler(&tt.axis, tt.values, 0, 300, 50)
			var got []string
			for i, k := range r.ticks {
				got = append(got, k.text)
				if k.at < -0.5 || k.at > 300.5 || i > 0 && k.at <= r.ticks[i-1].at {
					t.Errorf("tick %s is at %v", k.text, k.at)
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("ticks %s, want %s", s, tt.want)
			}
			if s := r.format.label(tt.axis.Label); s != tt.label {
				t.Errorf("label %q, want %q", s, tt.label)
			}
			for _, v := range tt.values {
				if x := r.at(v); !math.IsNaN(x) && tt.axis.Ticks == nil && (x < -1e-6 || x > 300+1e-6) {
					t.Errorf("%v is at %v, outside", v, x)
				}
			}
		})
	}
}

// Equal differences, ratios and tails are at equal distances.
func TestScales(t *testing.T) {
	for _, tt := range []struct {
		scale  Scale
		values []float64
	}{
		{Linear, []float64{0, 1, 2, 3}},
		{Log, []float64{1, 10, 100, 1000}},
		{Tail, []float64{0, 90, 99, 99.9}},
	} {
		r := newRuler(&Axis{Scale: tt.scale, Tight: true}, tt.values, 30, 0, 10)
		for i, v := range tt.values {
			if got, want := r.at(v), float64(30-10*i); math.Abs(got-want) > 1e-9 {
				t.Errorf("scale %d: %v is at %v, want %v", tt.scale, v, got, want)
			}
		}
	}
	for _, v := range []float64{-1, 100, 101, math.NaN()} {
		if !math.IsNaN(Tail.transform(v)) {
			t.Errorf("percentile %v has a place", v)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "0"},
		{12.8345, "12.83"},
		{12345.6, "12,346"},
		{-1234567, "-1,234,567"},
		{0.000123456, "0.0001235"},
		{99.995, "100"},
		{1e-7, "1e-07"},
		{2.5e15, "2.5e+15"},
		{123, "123"},
		{0.5, "0.5"},
	} {
		if got := number(tt.v, 4); got != tt.want {
			t.Errorf("number(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
	for _, tt := range []struct {
		unit    Unit
		typical float64
		v       float64
		want    string
	}{
		{Nanoseconds, 50e6, 12_834_500, "12.83 ms"}, {Nanoseconds, 2e9, 500e6, "0.5 s"}, {Share, 1, 0.971, "97.1%"}, {"tokens/s", 5000, 1234.5, "1,235 tokens/s"}, {"", 10, 7, "7"},
	} {
		if got := formatOf(tt.unit, tt.typical).value(tt.v); got != tt.want {
			t.Errorf("%v in %s = %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}
