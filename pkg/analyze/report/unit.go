package report

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

// A TimeUnit is a unit of time for many figures; the unit "" shows other numbers.
type TimeUnit struct {
	name string
	per  float64 // of the base unit
}

var timeScales = [...]TimeUnit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// scaleFor returns the unit of time for values of the size of v nanoseconds, so that
// it has one to three digits before the point (from seconds on, any number).
func scaleFor(v float64) TimeUnit {
	v = math.Abs(v)
	if v == 0 {
		return timeScales[2] // most other rows are in ms
	}
	best := timeScales[0]
	for _, s := range timeScales[1:] {
		if v >= s.per {
			best = s
		}
	}
	return best
}

// mostDecimals bounds the digits after the point of numbers for people.
const mostDecimals = 7

// decimals returns how many digits after the point show v with four
// significant ones: 2 for 12.34, 0 for 1234 and more, 4 for 0.1234. Below 0.1
// three are enough: 4 for 0.0123.
func decimals(v float64) int {
	a := math.Abs(v)
	n := 4
	for limit := 0.009995; a < limit && a > 0 && n < mostDecimals; limit /= 10 {
		n++
	}
	// The limits are where rounding to n digits carries into a further digit
	// before the point: 9.9996 shows as 10.00.
	for _, limit := range [...]float64{0.99995, 9.9995, 99.995, 999.95} {
		if a >= limit {
			n--
		}
	}
	return n
}

// Number formats v with four significant digits, three below 0.1, but never cuts
// digits before the point: 0.0123, 0.1234, 12.34, 1234, 123456. A value
// other than 0 that is too small for mostDecimals shows as 0.0000000.
func Number(v float64) string { return fixed(v, decimals(v)) }

// fixed formats v with n decimals, and 0 as "0".
func fixed(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// count formats a number of things: whole numbers without decimals, means and
// the like with two.
func count(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', min(2, decimals(v)), 64)
}

// An inRow formats the figures of one metric of a level alike: in the metric's
// unit and with as many decimals as show the mean with three or four digits.
type inRow struct {
	unit answer.Unit
	TimeUnit
	decimals int
	// zero is a time that shows as 0: 1 ns for the fluid interval, where it means that every interval is long
	// enough.
	zero float64
}

func rowFormat(m analyze.MetricSummary, sc TimeUnit) inRow {
	f := inRow{unit: m.Definition.Unit(), TimeUnit: sc}
	if m.Definition.Metric == answer.FluidInterval {
		f.zero = 1
	}
	mean := m.Summary.Mean / sc.per
	n := decimals(mean)
	if n > 2 { // 5.02 and 0.502: three digits leave room for larger values
		n--
	}
	if mean == 0 {
		n = 2
	}
	f.decimals = n
	return f
}

func (f inRow) text(v float64) string {
	switch f.unit {
	case answer.Nanoseconds:
	case answer.Ratio:
		return Number(v)
	default:
		return count(v)
	}
	if v == f.zero {
		return "0"
	}
	v /= f.per
	return fixed(v, min(f.decimals, decimals(v)))
}

// Span formats nanoseconds in the unit that suits them: "12.34 ms". Times of one kind
// share a unit; [TimeUnit.Span] formats these.
func Span(ns float64) string { return scaleFor(ns).Span(ns) }

// Span formats nanoseconds in the unit: "12.34 ms".
func (s TimeUnit) Span(ns float64) string { return Number(ns/s.per) + " " + s.name }

// plain returns text of a server or a file as one line that is safe to print.
func plain(s string) string { return sanitize.Text(s) }
