package report

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
)

// A scale is a unit that numbers are shown in.
type scale struct {
	name string
	per  float64 // of the base unit
}

var timeScales = [...]scale{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// scaleFor returns the scale for values of the size of v (in base units), so
// that it has one to three digits before the point (from seconds on, any
// number).
func scaleFor(u analyze.Unit, v float64) scale {
	if u != analyze.Nanoseconds {
		return scale{"", 1}
	}
	v = math.Abs(v)
	if v == 0 {
		return timeScales[2] // next to other rows in ms, as a rule
	}
	best := timeScales[0]
	for _, s := range timeScales[1:] {
		if v >= s.per {
			best = s
		}
	}
	return best
}

// decimals returns how many digits after the point show v with four
// significant ones: 2 for 12.34, 0 for 1234 and more, 4 for less than 1.
func decimals(v float64) int {
	a := math.Abs(v)
	n := 4
	// The limits are where rounding to n digits carries into a further digit
	// before the point: 9.9996 shows as 10.00.
	for _, limit := range [...]float64{0.99995, 9.9995, 99.995, 999.95} {
		if a >= limit {
			n--
		}
	}
	return n
}

// number formats v with four significant digits, but never cuts digits before
// the point: 0.1234, 12.34, 1234, 123456. Numbers too small for four decimals
// that are not 0 show as 0.0000.
func number(v float64) string { return fixed(v, decimals(v)) }

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

// An inRow formats the figures of one metric alike: in one unit and with as
// many decimals, two at most, as show the mean with four digits.
type inRow struct {
	unit analyze.Unit
	scale
	decimals int
}

func rowFormat(m analyze.Metric) inRow {
	u := m.Definition.Unit
	sc := scaleFor(u, m.Summary.Mean)
	return inRow{u, sc, min(2, decimals(m.Summary.Mean/sc.per))}
}

func (f inRow) text(v float64) string {
	if f.unit != analyze.Nanoseconds {
		return count(v)
	}
	return fixed(v/f.per, f.decimals)
}

// span formats nanoseconds with a unit: "12.34 ms".
func span(ns float64) string {
	s := scaleFor(analyze.Nanoseconds, ns)
	return number(ns/s.per) + " " + s.name
}

// plain makes text of a server or a file safe to print.
func plain(s string) string { return sanitize.Text(s) }
