package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// The table shows each figure over the windows. It leaves out a figure that no window has, and failures
// where there were none. It has room for the widest line only.
func TestTrends(t *testing.T) {
	window := func(perSecond float64, failed int, e2elMS float64) line {
		var tp figure.Throughput
		tp.Requests = figure.Rate{PerSecond: perSecond, OK: perSecond > 0}
		return line{throughput: &tp, failed: failed, metric: func(m answer.Metric) *summary.Summary {
			if m != answer.E2EL || e2elMS == 0 {
				return nil
			}
			s := &summary.Summary{N: 1}
			for i := range s.Pct {
				s.Pct[i] = e2elMS * 1e6
			}
			return s
		}}
	}
	calm := []line{window(8, 0, 100), window(4, 0, 200), window(8, 0, 0), window(2, 0, 400)}
	failing := append([]line{window(1, 3, 50)}, calm...)
	for _, tt := range []struct {
		name  string
		lines []line
		o     Options
		want  string
	}{
		{"a file", failing, Options{}, ""},
		{"three windows", calm[1:], Options{Sparklines: true}, ""},
		{"no failures", calm, Options{Sparklines: true, Width: 80}, `
                        least     most
  requests  /s  █▅█▃    2.000    8.000
  E2EL p50  ms  ▃▅ █  100.0    400.0
`},
		{"failures", failing, Options{Sparklines: true}, `
                        least     most
  requests  /s  ▂█▅█▃   1.000    8.000
  E2EL p50  ms  ▂▃▅ █  50.00   400.0
  failed        █▁▁▁▁   0        3
`},
		{"narrow", failing, Options{Sparklines: true, Width: 41}, `
                        least     most
  requests  /s  ▂█▅█▃   1.000    8.000
  E2EL p50  ms  ▂▃▅ █  50.00   400.0
  failed        █▁▁▁▁   0        3
`},
		{"no room", failing, Options{Sparklines: true, Width: 40}, ""},
		{"no output at all", []line{window(0, 0, 0), window(0, 0, 0), window(0, 0, 0), window(0, 0, 0)}, Options{Sparklines: true}, ""},
	} {
		var b strings.Builder
		ms := TimeUnit{name: "ms", per: 1e6}
		tb := table{b: &b, o: tt.o, units: &timeUnits{Units: Units{ms, ms}}}
		tb.blocks((&sheet.Part{}).Apart().Table(tb.trends(tt.lines)).Blocks)
		if d := cmp.Diff(tt.want, b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
