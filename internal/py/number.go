package py

import (
	"math"
	"strconv"
	"strings"
)

// Fixed formats f with that many decimals, 0 or more, as f"{f:.2f}" does.
// -0.001 is "-0.00"; NaN and infinities are "nan", "inf" and "-inf".
func Fixed(f float64, decimals int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Repr(f)
	}
	return strconv.FormatFloat(f, 'f', decimals, 64)
}

// Grouped formats f as Fixed does, with a comma after every three digits of
// the whole part: f"{f:,.2f}".
func Grouped(f float64, decimals int) string {
	s := Fixed(f, decimals)
	from, to := 0, len(s) // the digits of the whole part
	if s[0] == '-' {
		from = 1
	}
	for i := from; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			to = i
			break
		}
	}
	if to-from <= 3 {
		return s
	}
	b := make([]byte, 0, len(s)+(to-from)/3)
	b = append(b, s[:from]...)
	for i := from; i < to; i++ {
		if i > from && (to-i)%3 == 0 {
			b = append(b, ',')
		}
		b = append(b, s[i])
	}
	return string(append(b, s[to:]...))
}

// Round returns the float64 nearest to f rounded to that many decimals, 0 or
// more: round(f, 2). It rounds the exact binary value: 2.675, which is a little
// less than that, becomes 2.67, and 0.125 becomes 0.12.
func Round(f float64, decimals int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	if err != nil { // digits of a float64 are in its range
		panic(err)
	}
	return r
}

// General formats f as f"{f:g}" does: six digits at most, no zeros behind, with
// an exponent below 10⁻⁴ and from 10⁶ on.
func General(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Repr(f)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// Repr formats f as Python's repr does: the shortest digits that read back
// as the same float64, positional with at least one decimal for decimal
// exponents −4 … 15, else with a signed exponent of two or more digits
// ("1e-09", "1.5e+16").
func Repr(f float64) string {
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		switch {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		case math.Signbit(f):
			return "-0.0"
		}
		return "0.0"
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	_, exp, _ := strings.Cut(e, "e")
	if n, err := strconv.Atoi(exp); err != nil || n < -4 || n >= 16 {
		return e
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
