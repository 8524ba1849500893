package sheet

import (
	"math"
	"strings"
)

// blocks are the heights of a column of a sparkline, from the lowest to the full one.
var blocks = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws values as a line of columns, ▁▃▅█, for terminals; files and pipes hold numbers.
// The columns stand on 0: the largest value is a full column, and 0 and values below 0 are the
// lowest one. A NaN or infinite value is a blank. With more values than width, each column shows
// the largest of its values, so that no peak is lost. The result has at most width columns, one
// character each; it is "" for no values, or if width is below 1.
func Sparkline(values []float64, width int) string {
	n := min(len(values), width)
	if n < 1 {
		return ""
	}
	columns := make([]float64, n)
	top := 0.0
	for i := range columns {
		columns[i] = largest(values[i*len(values)/n : (i+1)*len(values)/n])
		if !math.IsNaN(columns[i]) {
			top = max(top, columns[i])
		}
	}
	var b strings.Builder
	for _, v := range columns {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case v <= 0: // also where top is 0
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[min(int(v/top*float64(len(blocks))), len(blocks)-1)])
		}
	}
	return b.String()
}

// largest returns the largest finite value, NaN if there is none.
func largest(values []float64) float64 {
	most := math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && !(v <= most) { // true for the first value, when most is NaN
			most = v
		}
	}
	return most
}

// ShowsSparklines reports whether the terminal can show the characters of [Sparkline]: it can unless the
// environment, read by getenv, names a locale that is not UTF-8. As in the C library,
// LC_ALL precedes LC_CTYPE, which precedes LANG. TERM=dumb promises no more than ASCII.
func ShowsSparklines(getenv func(string) string) bool {
	if getenv("TERM") == "dumb" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		locale := getenv(name)
		if locale == "" {
			continue
		}
		_, charset, named := strings.Cut(locale, ".")
		charset, _, _ = strings.Cut(strings.ToLower(charset), "@")
		return named && (charset == "utf-8" || charset == "utf8") || !named && locale != "C" && locale != "POSIX"
	}
	return true
}
