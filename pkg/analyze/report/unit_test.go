package report

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
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
		{0.00000001, "0.0000000"},
		{0.00001, "0.0000100"},
		{below(0.0009995), "0.000999"},
		{0.0012344, "0.00123"},
		{0.012344, "0.0123"},
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
		if got := Number(tt.v); got != tt.want {
			t.Errorf("Number(%v) = %q, want %q", tt.v, got, tt.want)
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
		if got := Span(tt.ns); got != tt.want {
			t.Errorf("Span(%v) = %q, want %q", tt.ns, got, tt.want)
		}
	}
}

// All figures of a row are in one unit, with the digits of the mean at most.
func TestRowFormat(t *testing.T) {
	m := summary.Metric{Definition: &answer.StrictMetrics[0], Summary: &summary.Summary{Mean: 123_456_789}}
	f := rowFormat(m, timeScales[2])
	if got := f.text(1_000) + " " + f.text(123_456_789) + " " + f.text(5e9) + " " + f.name; got != "0.0 123.5 5000 ms" {
		t.Errorf("row %q", got)
	}
}

// A report has one unit for the times of tokens and one for E2EL, whatever the
// rows and levels hold.
func TestTimeUnits(t *testing.T) {
	metric := func(m answer.Metric, mean float64) summary.Metric {
		return summary.Metric{Definition: &answer.StrictMetrics[m], Summary: &summary.Summary{N: 1, Mean: mean}}
	}
	for _, tt := range []struct {
		name           string
		ttft, itl, e2e []float64
		token, request string
	}{
		{"fast tokens after slow first ones", []float64{31e6, 1.2e9}, []float64{50e3, 20e6}, []float64{185e6, 900e6}, "ms", "ms"},
		{"a level of seconds", []float64{31e6, 12e9}, []float64{5e6, 20e6}, []float64{185e6, 3e9}, "ms", "s"},
		{"all below a millisecond", []float64{310e3, 999e3}, []float64{50e3, 800}, []float64{400e3}, "µs", "µs"},
		{"all of seconds", []float64{3e9}, []float64{1e9}, []float64{900e9}, "s", "s"},
		{"zeros decide nothing", []float64{0, 3e9}, []float64{0}, []float64{0, 2e6}, "s", "ms"},
		{"nothing (edge)", nil, nil, nil, "ms", "ms"},
	} {
		rep := &analyze.Report{Run: &export.Run{}}
		for i := range max(len(tt.ttft), len(tt.itl), len(tt.e2e)) {
			var e analyze.Experiment
			for _, m := range []struct {
				metric answer.Metric
				means  []float64
			}{{answer.TTFT, tt.ttft}, {answer.ITL, tt.itl}, {answer.E2EL, tt.e2e}} {
				if i < len(m.means) {
					e.Metrics = append(e.Metrics, metric(m.metric, m.means[i]))
				}
			}
			rep.Experiments = append(rep.Experiments, e)
		}
		u := timeUnitsOf([]Input{{Report: rep}})
		if u.Token.name != tt.token || u.Request.name != tt.request {
			t.Errorf("%s: %s and %s, want %s and %s", tt.name, u.Token.name, u.Request.name, tt.token, tt.request)
		}
	}
}
