package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// summaryOf returns the summary of n values whose percentile at a level is value(level).
func summaryOf(n int, value func(level float64) float64) *summary.Summary {
	s := &summary.Summary{N: n, Mean: value(50), Min: value(0), Max: value(100), Curve: make(summary.Curve, len(summary.CurveLevels))}
	for i, l := range summary.CurveLevels {
		s.Curve[i] = value(l)
	}
	for i, l := range summary.Levels {
		s.Pct[i] = value(l)
	}
	return s
}

// two returns 10 ms below the 60th percentile and 20 ms from it on, and 1 s above the 99.9th.
func two(level float64) float64 {
	switch {
	case level < 60:
		return 10e6
	case level <= 99.9:
		return 20e6
	}
	return 1e9
}

// A bin has the share of the values that lie in it. The p99.9 is the end of the last bin.
func TestHistogramShares(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value func(level float64) float64
		n     int
		log   bool
		want  []float64
	}{
		// Each of 3 bins has a third of 99.9 %.
		{"even", func(l float64) float64 { return 100 + l }, 3, false, []float64{33.3, 33.3, 33.3}},
		// From 59.5 % to 60 % the curve rises in a straight line from 10 to 20 ms, an eighth in each bin.
		{"two values", two, 4, false, []float64{59.5 + 0.125, 0.125, 0.125, 99.9 - 59.5 - 0.375}},
		// 1, 3, 15 and 64 in quarters: the bins end at 4, 16 and 64.
		{"logarithmic", func(l float64) float64 {
			return []float64{1, 3, 15, 64, 64}[int(l/25)]
		}, 3, true, []float64{49.5 + 0.5/12, 25 - 0.5/12 + 0.5/49, 100 - 74.5 - 0.5/49}},
	} {
		h := histogramOf(summaryOf(1000, tt.value))
		if h == nil || h.log != tt.log {
			t.Fatalf("%s: %+v", tt.name, h)
		}
		got := h.shares(tt.n)
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The percentiles have histograms of TTFT and ITL on a terminal, if there are enough values and if they
// differ.
func TestHistograms(t *testing.T) {
	metric := func(m answer.Metric, n int, value func(float64) float64) summary.Metric {
		return summary.Metric{Definition: &answer.StrictMetrics[m], Summary: summaryOf(n, value)}
	}
	rising := func(l float64) float64 { return 1e6 * (1 + l) }
	bare := metric(answer.ITL, 1000, rising)
	bare.Summary.Curve = nil
	for _, tt := range []struct {
		name    string
		metrics []summary.Metric
		o       Options
		want    string
	}{
		{"a file", []summary.Metric{metric(answer.TTFT, 1000, two)}, Options{}, ""},
		{"both", []summary.Metric{metric(answer.TTFT, 1000, two), metric(answer.ITL, 100, rising), metric(answer.E2EL, 1000, two)}, Options{Sparklines: true, Width: 44}, `
                         min   p99.9    bins
  TTFT  ms  █▁▁▁▁▁▁▁▆  10.00   20.00  linear
  ITL   ms  ▁▁▁▁▂▂▃▅█   1.00  100.9      log
`},
		{"few values", []summary.Metric{metric(answer.TTFT, 99, two)}, Options{Sparklines: true}, ""},
		{"equal values", []summary.Metric{metric(answer.TTFT, 1000, func(float64) float64 { return 5e6 })}, Options{Sparklines: true}, ""},
		{"no curve", []summary.Metric{bare}, Options{Sparklines: true}, ""},
		{"no room", []summary.Metric{metric(answer.TTFT, 1000, two)}, Options{Sparklines: true, Width: 36}, ""},
	} {
		var b strings.Builder
		ms := TimeUnit{name: "ms", per: 1e6}
		tb := table{b: &b, o: tt.o, units: &timeUnits{Units: Units{ms, ms}}}
		tb.blocks((&sheet.Part{}).Apart().Table(tb.histograms(&analyze.Experiment{Level: figure.Level{Metrics: tt.metrics}})).Blocks)
		if d := cmp.Diff(tt.want, b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
