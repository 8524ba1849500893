package svg

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Axis says what the values along an edge of a panel are.
type Axis struct {
	Label string
	Unit  Unit
	Scale Scale
	// Include holds values that the axis must cover beside the data: 0, or the ends of another
	// panel.
	Include []float64
	// Tight ends the axis at the data, not at the next tick.
	Tight bool
	// Ticks are the places of the ticks, and the axis ends a little beyond the data; nil for round
	// numbers.
	Ticks []float64
	// Names are the names of the values 0, 1, 2, … of an axis of categories.
	Names []string
}

// A Scale says how values are placed along an axis.
type Scale int

const (
	// Linear places equal differences at equal distances.
	Linear Scale = iota
	// Log places equal ratios at equal distances. Values of 0 or less have no place.
	Log
	// Tail is for percentiles from 0 to 100: 0, 90, 99, 99.9 and so on are at equal distances.
	// 100 has no place.
	Tail
	// Names is for the categories 0, 1, 2, … of Axis.Names.
	Names
)

// mostValue is the largest value that has a place: differences of such values are finite.
const mostValue = 1e300

// transform returns the place of a value on a scale without limits; NaN if it has none.
func (s Scale) transform(v float64) float64 {
	switch {
	case math.IsNaN(v) || math.Abs(v) > mostValue:
		return math.NaN()
	case s == Log && v <= 0:
		return math.NaN()
	case s == Log:
		return math.Log10(v)
	case s == Tail && (v < 0 || v >= 100):
		return math.NaN()
	case s == Tail:
		return -math.Log10(1 - v/100)
	}
	return v
}

// place returns the place of a value on the axis without limits; NaN if it has none.
func (a *Axis) place(v float64) float64 {
	if a.Scale == Names && !(v >= 0 && v <= float64(len(a.Names)-1)) {
		return math.NaN()
	}
	return a.Scale.transform(v)
}

// A span is the range of values that an axis covers.
type span struct{ low, high float64 }

// spanOf returns the least span of the values that have a place on the axis; ok is false if none has
// one.
func spanOf(a *Axis, values []float64) (all span, ok bool) {
	for _, v := range values {
		if math.IsNaN(a.place(v)) {
			continue
		}
		if !ok {
			all = span{v, v}
		}
		all.low, all.high, ok = min(all.low, v), max(all.high, v), true
	}
	return all, ok
}

// A ruler places the values of an axis on pixels.
type ruler struct {
	axis        *Axis
	low, high   float64 // after the transformation
	first, last float64 // pixels of low and high
	covers      span
	format      format
	ticks       []tick
}

// A tick is a labeled place on an axis.
type tick struct {
	at   float64 // pixels
	text string
}

// newRuler returns the ruler of an axis that shows values between the pixels first and last, with
// labels about gap pixels apart. Without values and Include the axis has no ticks.
func newRuler(a *Axis, values []float64, first, last, gap float64) *ruler {
	r := &ruler{axis: a, first: first, last: last}
	all, ok := spanOf(a, slices.Concat(values, a.Include))
	if a.Scale == Names {
		all, ok = span{-0.5, max(0.5, float64(len(a.Names))-0.5)}, len(a.Names) > 0
	}
	count := max(2, int(math.Abs(last-first)/gap))
	if !ok {
		r.covers, r.low, r.high = span{0, 1}, 0, 1
		if a.Scale == Log {
			r.covers = span{1, 10}
		}
		r.format = formatOf(a.Unit, 0)
		if a.Unit == Nanoseconds {
			r.format = format{per: 1}
		}
		return r
	}
	all = widen(a, all)
	data := all
	typical := max(math.Abs(all.low), math.Abs(all.high))
	if a.Scale == Log {
		if typical = all.low; a.Unit == Nanoseconds {
			typical = all.high / 10
		}
	}
	r.format = formatOf(a.Unit, typical)
	var at []float64
	step := 0.0
	switch a.Scale {
	case Linear:
		step = roundStep((all.high-all.low)/r.format.per/float64(count)) * r.format.per
		if !a.Tight {
			all = span{math.Floor(all.low/step+1e-9) * step, math.Ceil(all.high/step-1e-9) * step}
			if all.low == all.high { // the distance is less than leastStep
				all.high += step
			}
			all = span{max(all.low, -mostValue), min(all.high, mostValue)}
		}
		at = multiples(all, step)
	case Log:
		at, all = decades(all, count, r.format.per, a.Tight)
	case Tail:
		at = percentiles(all)
	case Names:
		for i := range a.Names {
			at = append(at, float64(i))
		}
	}
	r.covers, r.low, r.high = all, a.Scale.transform(all.low), a.Scale.transform(all.high)
	if a.Ticks != nil {
		at, step = a.Ticks, 0
		r.covers, r.low, r.high = data, a.Scale.transform(data.low), a.Scale.transform(data.high)
		beside := 0.04 * (r.high - r.low)
		r.low, r.high = r.low-beside, r.high+beside
	}
	for _, v := range at {
		x := r.at(v)
		if math.IsNaN(x) || x < min(first, last)-0.5 || x > max(first, last)+0.5 {
			continue
		}
		text := r.format.tick(v, step)
		if a.Scale == Names {
			text = a.Names[int(v)]
		}
		r.ticks = append(r.ticks, tick{x, text})
	}
	return r
}

// widen makes a span of one value a range around it.
func widen(a *Axis, s span) span {
	if s.low < s.high {
		return s
	}
	switch {
	case a.Scale == Log:
		return span{s.low / 2, s.high * 2}
	case a.Scale == Tail:
		return span{0, max(s.high, 99)}
	case s.low == 0 && a.Unit == Share:
		return span{0, 0.01}
	case s.low == 0:
		return span{0, 1}
	case s.low > 0:
		return span{s.low / 2, s.low * 1.5}
	}
	return span{s.low * 1.5, s.low / 2}
}

// at returns the pixel of a value; NaN if it has none.
func (r *ruler) at(v float64) float64 {
	t := r.axis.place(v)
	// The conversion keeps machines from fusing the product and the sum, which would round otherwise.
	return r.first + float64((t-r.low)/(r.high-r.low)*(r.last-r.first))
}

// edge returns the pixel of the end of an interval. An end without a place, such as an infinite one, is
// at the edge of the axis; NaN has no pixel.
func (r *ruler) edge(v float64) float64 {
	switch x := r.at(v); {
	case !math.IsNaN(x) || math.IsNaN(v):
		return x
	case v < r.covers.high:
		return r.first
	}
	return r.last
}

// inside returns pixel x, or the end of the axis that it lies beyond.
func (r *ruler) inside(x float64) float64 {
	return max(min(r.first, r.last), min(x, max(r.first, r.last)))
}

// leastStep keeps numbers near 0 from becoming a step of 0.
const leastStep = 1e-300

// roundStep returns the least number of 1, 2 and 5 × 10ⁿ that is not below v; 1 if v is not positive.
func roundStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	v = max(v, leastStep)
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// roundDown returns the greatest number of 1, 2 and 5 × 10ⁿ that is not above v, which is positive.
func roundDown(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	for _, m := range []float64{5, 2} {
		if m*p <= v*(1+1e-9) {
			return m * p
		}
	}
	return p
}

// mostTicks bounds the ticks of an axis.
const mostTicks = 50

// multiples returns the multiples of step in a span.
func multiples(s span, step float64) []float64 {
	var all []float64
	from := math.Ceil(s.low/step - 1e-9)
	for i := range mostTicks {
		v := (from + float64(i)) * step
		if v > s.high+float64(step*1e-6) {
			break
		}
		all = append(all, v)
	}
	return all
}

// decades returns the ticks of a logarithmic axis, and the span that they and the data cover: powers
// of ten, with 2 and 5 between them if that makes at most count ticks; round numbers if the span is
// short.
func decades(s span, count int, per float64, tight bool) ([]float64, span) {
	// The ticks are round in the unit that is shown.
	low, high := s.low/per, s.high/per
	from, to := int(math.Floor(math.Log10(low)+1e-9)), int(math.Ceil(math.Log10(high)-1e-9))
	var all []float64
	keep := func(v float64) {
		if v *= per; v > 0 && v <= mostValue {
			all = append(all, v)
		}
	}
	switch {
	case high/low < 4:
		step := roundStep((high - low) / float64(count))
		if !tight {
			if l := math.Floor(low/step+1e-9) * step; l > 0 {
				low = l
			}
			high = math.Ceil(high/step-1e-9) * step
		}
		for _, v := range multiples(span{low, high}, step) {
			keep(v)
		}
		return all, span{low * per, high * per}
	case 3*(to-from) <= 2*count:
		for e := from; e <= to; e++ {
			for _, m := range []float64{1, 2, 5} {
				keep(m * math.Pow(10, float64(e)))
			}
		}
	default:
		by := max(1, (to-from+count-1)/count)
		for e := from; e <= to+by-1; e += by {
			keep(math.Pow(10, float64(e)))
		}
	}
	if !tight {
		low, high = roundDown(low), roundStep(high)
	}
	return all, span{low * per, high * per}
}

// percentiles returns the ticks of a percentile axis: 0, 50, 90, 99, 99.9 and so on.
func percentiles(s span) []float64 {
	all := []float64{0, 50, 75}
	for rest := 10.0; rest > 1e-9 && 100-rest <= s.high; rest /= 10 {
		all = append(all, round(100-rest, 10))
	}
	return slices.DeleteFunc(all, func(v float64) bool { return v < s.low || v > s.high })
}

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
