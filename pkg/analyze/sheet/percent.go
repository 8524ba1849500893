package sheet

import (
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// none stands in tables for a number that does not exist.
const none = "–"

// Percent formats a ratio for a table, with two decimals: "4.96%", or from ten times on without:
// "1,218%"; "–" for NaN. A negative number that rounds to 0 has no sign.
func Percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return none
	case math.IsInf(v, 0):
		return infinity(v) + "%"
	}
	const large, exact = 10, 1e13 // decimals say nothing from large on; integers are exact up to exact
	if math.Abs(v) >= large && math.Abs(v) < exact {
		return plural.Grouped(int64(math.Round(100*v))) + "%"
	}
	s := strconv.FormatFloat(100*v, 'f', 2, 64)
	if s == "-0.00" {
		s = "0.00"
	}
	return s + "%"
}

// Change formats a change for a table, with a sign and two decimals: "+4.96%"; "–" for NaN.
func Change(v float64) string {
	s := Percent(v)
	if s != none && s[0] != '-' {
		s = "+" + s
	}
	return s
}

// Changes formats the ends of an interval for a table, "+4.96% +5.1%"; "" for NaN.
func Changes(low, high float64) string {
	if math.IsNaN(low) {
		return ""
	}
	return Change(low) + " " + Change(high)
}

// Share formats a share for a table, with at most one decimal: "97.1%", "10%"; "–" for NaN.
func Share(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	return tenths(v) + "%"
}

// ShareInSentence formats a share for a sentence: "97.1 %".
func ShareInSentence(v float64) string { return strings.Replace(Share(v), "%", " %", 1) }

// Points formats a difference of two shares in percentage points, with a sign and at most one
// decimal: "+10 pt"; "–" for NaN.
func Points(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	s := tenths(v)
	if v > 0 {
		s = "+" + s
	}
	return s + " pt"
}

func tenths(v float64) string { return strconv.FormatFloat(math.Round(1000*v)/10, 'f', -1, 64) }

// Size formats the size of a change for a sentence, without the percent sign: two digits below
// 10 %, but at most three decimals, and whole numbers above: "0.043", "0.43", "4.8", "12",
// "1,235"; "?" for NaN.
func Size(v float64) string {
	switch p := 100 * v; {
	case math.IsNaN(p):
		return "?"
	case math.IsInf(p, 0):
		return infinity(p)
	case p == 0:
		return "0"
	case p < 0.0995:
		return strconv.FormatFloat(p, 'f', 3, 64)
	case p < 0.995:
		return strconv.FormatFloat(p, 'f', 2, 64)
	case p < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64)
	default:
		return plural.Grouped(int64(math.Round(math.Min(p, 1e15))))
	}
}

// Signed formats a change for a sentence, as [Size] with a sign: "+4.8", "-12".
func Signed(v float64) string {
	switch {
	case math.IsNaN(v):
		return "?"
	case math.IsInf(v, -1):
		return infinity(v)
	case v < 0:
		return "-" + Size(-v)
	}
	return "+" + Size(v)
}

func infinity(v float64) string {
	if v < 0 {
		return "-∞"
	}
	return "∞"
}

// PValue formats a p-value with three decimals; "" for NaN.
func PValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.0005:
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}
