package plot

import (
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
)

// marked are the percentiles that have a marker.
var marked = []float64{50, 90, 99, 99.9, 99.99}

// CDF draws the distributions of TTFT, ITL, TPOT and E2EL: the value of each percentile, on an axis on
// which 90, 99 and 99.9 % are equally far apart. A curve ends at its largest value, which of n values is
// at 1 − 1/n.
func CDF(runs []*view.Run, o Options) *svg.Figure {
	width, columns := o.wide()
	all, note := curves(runs, mostCurves)
	f := &svg.Figure{
		Title: "Latencies by percentile", Width: width, Columns: columns,
		Subtitle: sentences(requests(runs), "Percentiles are exact; each curve ends at its largest value.", note),
		Desc:     "The value that a percentile of all values does not exceed, for TTFT, ITL, TPOT and E2EL.",
	}
	for _, m := range [...]answer.Metric{answer.TTFT, answer.ITL, answer.TPOT, answer.E2EL} {
		var series []svg.Series
		var counts []int
		for _, c := range all {
			for i := range c.level.Distributions {
				if d := &c.level.Distributions[i]; d.Metric == m {
					series = append(series, svg.Series{Name: c.name, Style: c.style, Shape: svg.Lines, Points: percentiles(d.Summary)})
					counts = append(counts, d.Summary.N)
				}
			}
		}
		p := svg.Panel{
			X: svg.Axis{Label: "percentile", Scale: svg.Tail, Include: []float64{0}}, Y: latencyAxis(m.Label(), ys(series)),
			Series: series, Lines: limits(runs, m), Aside: numbers(counts), NoData: why(runs, m.Key(), "no request has one"),
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// percentiles returns the curve of a distribution.
func percentiles(s *analyze.Summary) []svg.Point {
	end := 100 * (1 - 1/float64(s.N))
	var all []svg.Point
	for i, p := range analyze.CurveLevels {
		if p >= end {
			break
		}
		at := svg.Point{X: p, Y: s.Curve.At(i)}
		if slices.Contains(marked, p) {
			at.Title = report.PercentileName(p) + " of " + plural.GroupedOf(s.N, "value")
		}
		all = append(all, at)
	}
	return append(all, svg.Point{X: end, Y: s.Max, Title: "largest of " + plural.GroupedOf(s.N, "value")})
}

// numbers returns "n 1,200", or the range of several.
func numbers(n []int) string {
	switch {
	case n == nil:
		return ""
	case slices.Min(n) == slices.Max(n):
		return "n " + plural.Grouped(n[0])
	}
	return fmt.Sprintf("n %s–%s", plural.Grouped(slices.Min(n)), plural.Grouped(slices.Max(n)))
}
