package runset

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// Units are the time units of a report: times of tokens have one unit on all levels, and
// times of requests have one.
type Units struct{ token, request report.TimeUnit }

// Units chooses the time units that suit all values of the set.
func (s *Set) Units() Units {
	var token, request []float64
	for i := range diff.Metrics {
		m := &diff.Metrics[i]
		for j := range s.Levels {
			switch values := s.Levels[j].Values(m); {
			case m.Kind != gate.Duration:
			case m.OfRequest():
				request = append(request, values...)
			default:
				token = append(token, values...)
			}
		}
	}
	return Units{report.TokenUnit(token), report.RequestUnit(request)}
}

// Amount formats a value of a metric with its unit; "–" for NaN.
func (u Units) Amount(m *diff.Metric, v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case m.Kind == gate.Duration && m.OfRequest():
		return u.request.Span(v)
	case m.Kind == gate.Duration:
		return u.token.Span(v)
	case m.Kind == gate.Share:
		return strconv.FormatFloat(100*v, 'f', -1, 64) + "%"
	}
	return report.Number(v)
}

// Percent formats a ratio in percent with two decimals: "4.96%"; "–" for NaN.
func Percent(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return number(100*v, 2) + "%"
}

// Change formats a ratio − 1 in percent with a sign: "+4.96%"; "–" for NaN.
func Change(v float64) string {
	s := Percent(v)
	if s != "–" && s[0] != '-' {
		s = "+" + s
	}
	return s
}

// Rounded formats a ratio in percent for a sentence, with two digits: "9.3", "14", "0.42".
func Rounded(v float64) string {
	v *= 100
	decimals := 2
	if v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
		decimals = max(0, 1-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	return number(v, min(decimals, 3))
}

// number formats v with the given number of decimals. A negative number that rounds to 0 gets
// no sign.
func number(v float64, decimals int) string {
	if math.IsInf(v, 0) {
		if v < 0 {
			return "-∞"
		}
		return "∞"
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if x, err := strconv.ParseFloat(s, 64); err == nil && x == 0 && s[0] == '-' {
		return s[1:]
	}
	return s
}
