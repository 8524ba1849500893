package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/analyze"
)

// A scale is a unit that numbers are shown in.
type scale struct {
	name string
	per  float64 // of the base unit
}

var timeScales = [...]scale{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// scaleFor returns the scale for values of the size of v (in base units), so
// that it has one to four digits before the point.
func scaleFor(u analyze.Unit, v float64) scale {
	if u != analyze.Nanoseconds {
		return scale{"", 1}
	}
	v = math.Abs(v)
	best := timeScales[0]
	for _, s := range timeScales[1:] {
		if v >= s.per {
			best = s
		}
	}
	return best
}

// number formats v with four significant digits, but never cuts digits before
// the point: 0.1234, 12.34, 1234, 123456. Numbers too small for four decimals
// that are not 0 show as 0.0000.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := 3
	for a := math.Abs(v); decimals > 0 && a >= 9.9995; a /= 10 {
		decimals--
	}
	if math.Abs(v) < 0.99995 {
		decimals = 4
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// count formats a whole number; other numbers get two decimals.
func count(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// value formats v, in base units of u, in scale s.
func value(u analyze.Unit, s scale, v float64) string {
	if u == analyze.Nanoseconds {
		return number(v / s.per)
	}
	return count(v)
}

// span formats nanoseconds with a unit: "12.34 ms".
func span(ns float64) string {
	s := scaleFor(analyze.Nanoseconds, ns)
	return number(ns/s.per) + " " + s.name
}

// plain makes s safe to print: control characters, characters that hide or
// turn text, and bytes that are not UTF-8 are escaped as in Go strings.
// Escape sequences of a server must not reach the terminal.
func plain(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && r != utf8.RuneError && unicode.IsPrint(r)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			q := strconv.QuoteToASCII(s[:n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// Plain makes text of a server or a file safe for a terminal: control
// characters, invisible ones and bytes that are not UTF-8 are escaped.
func Plain(s string) string { return plain(s) }
