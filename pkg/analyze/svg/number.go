package svg

import (
	"math"
	"strconv"
	"strings"
)

// A Unit is the unit of the values of an axis, as the axis shows it. Two units change with the
// values.
type Unit string

const (
	// Nanoseconds is the unit of times. An axis shows them in ns, µs, ms, s, min or h.
	Nanoseconds Unit = "ns"
	// Share is the unit of ratios from 0 to 1. An axis shows them in percent.
	Share Unit = "share"
)

// A format writes the numbers of one axis, all in one unit.
type format struct {
	per  float64 // values of the axis in one of the unit
	unit string  // "" for none
}

// times are the units of durations, each with the least duration in ns that is shown in it.
var times = []struct {
	unit      string
	ns, least float64
}{
	{"h", 3600e9, 3 * 3600e9}, {"min", 60e9, 600e9}, {"s", 1e9, 1e9}, {"ms", 1e6, 1e6}, {"µs", 1e3, 1e3}, {"ns", 1, 0},
}

// formatOf returns the format for values around typical: the highest of a linear axis; of a logarithmic
// one a tenth of the longest time, or the lowest of other values.
func formatOf(u Unit, typical float64) format {
	u = Unit(clean(string(u)))
	switch {
	case u == Nanoseconds:
		for _, t := range times {
			if typical >= t.least {
				return format{per: t.ns, unit: t.unit}
			}
		}
		return format{per: 1, unit: "ns"}
	case u == Share:
		return format{per: 0.01, unit: "%"}
	case typical >= 1e15:
		return format{per: 1, unit: string(u)} // with an exponent
	case typical >= 1e9:
		return format{per: 1e9, unit: strings.TrimSpace("billion " + string(u))}
	case typical >= 1e6:
		return format{per: 1e6, unit: strings.TrimSpace("million " + string(u))}
	}
	return format{per: 1, unit: string(u)}
}

// label returns the name of an axis with its unit: "TTFT (ms)".
func (f format) label(name string) string {
	switch {
	case f.unit == "":
		return name
	case name == "":
		return f.unit
	}
	return name + " (" + f.unit + ")"
}

// value returns v with its unit in four digits: "12.83 ms".
func (f format) value(v float64) string {
	s := number(v/f.per, 4)
	switch f.unit {
	case "":
		return s
	case "%":
		return s + "%"
	}
	return s + " " + f.unit
}

// tick returns v without its unit. step is the distance of the ticks, which all have the same number
// of decimals; 0 stands for ticks that each have as many digits as they need.
func (f format) tick(v, step float64) string {
	v, step = v/f.per, step/f.per
	if step == 0 {
		return number(v, 6)
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	if decimals > 6 || math.Abs(v) >= 1e15 {
		return number(v, 6)
	}
	return separate(strconv.FormatFloat(round(v, decimals), 'f', decimals, 64))
}

// number returns v in at most the given number of significant digits, with separators between
// thousands; with an exponent below 1e-6 and from 1e15 on.
func number(v float64, digits int) string {
	a := math.Abs(v)
	if v == 0 {
		return "0"
	}
	if a < 1e-6 || a >= 1e15 {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(a))))
	s := strconv.FormatFloat(round(v, decimals), 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return separate(s)
}

// round rounds v to decimals and makes -0 be 0.
func round(v float64, decimals int) float64 {
	p := math.Pow(10, float64(decimals))
	if r := math.Round(v*p) / p; r != 0 && !math.IsInf(r, 0) && !math.IsNaN(r) {
		return r
	} else if r == 0 {
		return 0
	}
	return v
}

// separate puts commas between the thousands of a number without exponent.
func separate(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest := s, ""
	if at := strings.IndexByte(s, '.'); at >= 0 {
		whole, rest = s[:at], s[at:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + rest
}
