package py

import (
	"math"
	"strconv"
	"strings"
)

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
