package report

import (
	"math"
	"sort"

	"github.com/pa-tools/pa/internal/sparkline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// mostBins is the number of bins of a histogram on a wide terminal.
const mostBins = 48

// fewestForHistogram is the number of values from which a histogram is drawn. Below it, the percentiles
// between two neighboring values would show as values that nobody measured.
const fewestForHistogram = 100

// fewestDoublings is the number of doublings between the ends of a histogram from which its bins have
// equal widths on a logarithmic scale.
const fewestDoublings = 3

// histograms draws the distributions of TTFT and ITL, for terminals; see [Options.Sparklines].
func (t *table) histograms(e *analyze.Experiment) sheet.Table {
	if !t.o.Sparklines {
		return sheet.Table{}
	}
	g := chartGrid("min", "p99.9", "bins")
	var all []*histogram
	for _, m := range e.Metrics {
		if m.Definition.Metric != answer.TTFT && m.Definition.Metric != answer.ITL {
			continue
		}
		h := histogramOf(m.Summary)
		if h == nil {
			continue
		}
		f := rowFormat(m, t.units.of(m.Definition))
		bins := "linear"
		if h.log {
			bins = "log"
		}
		all = append(all, h)
		g.Add(m.Definition.Label(), f.name, "", f.text(h.low), f.text(h.high), bins)
	}
	return t.charts(g, mostBins, func(i, width int) string { return sparkline.Line(all[i].shares(width), width) })
}

// A histogram shows the values of a metric from the smallest to the p99.9, which hides no bulk behind
// one extreme value.
type histogram struct {
	curve     analyze.Curve
	low, high float64
	log       bool // the bins have equal widths on a logarithmic scale
}

// histogramOf returns the histogram of a metric; nil for a summary without a Curve or with fewer than
// fewestForHistogram values, and if the smallest value and the p99.9 are equal.
func histogramOf(s *analyze.Summary) *histogram {
	h := &histogram{curve: s.Curve, low: s.Min, high: s.P(99.9)}
	if s.Curve == nil || s.N < fewestForHistogram || !(h.high > h.low) {
		return nil
	}
	h.log = h.low > 0 && math.Log2(h.high/h.low) >= fewestDoublings
	return h
}

// shares returns the percentage of the values in each of n bins. A bin includes its upper end, and the
// first bin its lower end, too.
func (h *histogram) shares(n int) []float64 {
	all := make([]float64, n)
	below := 0.0
	for i := range all {
		end := h.high
		switch f := float64(i+1) / float64(n); {
		case i == n-1: // exact
		case h.log:
			end = h.low * math.Pow(h.high/h.low, f)
		default:
			end = h.low + (h.high-h.low)*f
		}
		at := h.level(end)
		all[i], below = max(at-below, 0), max(at, below)
	}
	return all
}

// level returns the percentage of the values that are at most v, interpolated between the percentiles
// of the curve.
func (h *histogram) level(v float64) float64 {
	next := sort.Search(len(analyze.CurveLevels), func(i int) bool { return h.curve.At(i) > v })
	switch next {
	case 0:
		return 0
	case len(analyze.CurveLevels):
		return 100
	}
	from, to := h.curve.At(next-1), h.curve.At(next)
	return analyze.CurveLevels[next-1] + (analyze.CurveLevels[next]-analyze.CurveLevels[next-1])*(v-from)/(to-from)
}
