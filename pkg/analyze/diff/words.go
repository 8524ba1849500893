package diff

import (
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// percent formats a margin: "5 %".
func percent(v float64) string {
	size := sheet.Size(v)
	if strings.Contains(size, ".") {
		size = strings.TrimSuffix(strings.TrimRight(size, "0"), ".")
	}
	return size + " %"
}

// point returns the metric and its change: "TTFT p50 +185 %", or "TTFT p50 82 times as long".
func (r *Row) point() string {
	const times = 10
	switch ratio := 1 + r.Change; {
	case math.IsNaN(r.Change):
		return r.Metric.Name
	case ratio >= times || ratio <= 1.0/times:
		return r.Metric.Name + " " + timesAs(r.Metric, ratio)
	}
	return r.Metric.Name + " " + sheet.Signed(r.Change) + " %"
}

// timesAs returns a ratio in words: "82 times as long".
func timesAs(m *Metric, ratio float64) string {
	long := "high"
	if m.of < seriesQuantities {
		long = "long"
	}
	if ratio < 1 {
		return "1/" + times(1/ratio) + " as " + long
	}
	return times(ratio) + " times as " + long
}

// differs returns the size of a factor in words, for a run: "took 82 times as long", "is 35 % lower".
func differs(m *Metric, factor float64) string {
	high, low := "is %s higher", "is %s lower"
	if m.of < seriesQuantities {
		high, low = "took %s longer", "took %s less long"
	}
	switch {
	case factor >= 2 && m.of < seriesQuantities:
		return "took " + timesAs(m, factor)
	case factor >= 2, factor <= 0.5:
		return "is " + timesAs(m, factor)
	case factor > 1:
		return fmt.Sprintf(high, percent(factor-1))
	}
	return fmt.Sprintf(low, percent(1-factor))
}

// times formats a factor with two digits.
func times(ratio float64) string {
	switch {
	case ratio < 9.95:
		return fmt.Sprintf("%.1f", ratio)
	case ratio < 1e15:
		return plural.Grouped(int64(math.Round(ratio)))
	}
	return fmt.Sprintf("%.2g", ratio)
}

// span returns the ends of an interval in brackets: "(-2.0 to +10)" in percent, or "(between 53 times faster
// and 9.3 times slower)" if the ends are on both sides of 0 and one is a factor of 2 or more, or if one is a
// factor of 10.
func (r *Row) span(i inference.Interval) string {
	const far = 2
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return ""
	}
	const sameWay = 10
	const countable = 1000 // a larger factor says nothing more
	near := i.High < far-1 && i.Low > 1.0/far-1
	if near || (i.Low > 0 || i.High < 0) && i.High < sameWay-1 && i.Low > 1.0/sameWay-1 {
		return fmt.Sprintf("(%s to %s)", sheet.Signed(i.Low), sheet.Signed(i.High))
	}
	if math.IsInf(i.High, 1) && !(i.Low > -1) {
		return "(without limits)"
	}
	up, down := "higher", "lower"
	switch {
	case r.Metric.of < seriesQuantities && r.Metric.Direction == inference.LowerIsBetter:
		up, down = "slower", "faster"
	case r.Metric.IsRate():
		up, down = "faster", "slower"
	}
	end := func(v float64) string {
		ratio, word := 1+v, up
		if ratio < 1 {
			ratio, word = 1/ratio, down
		}
		switch {
		case math.IsInf(ratio, 0):
			return "any times " + word
		case ratio < far && word == up:
			return fmt.Sprintf("%s %s", percent(ratio-1), word)
		case ratio < far:
			return fmt.Sprintf("%s %s", percent(-v), word)
		case ratio > countable:
			return "more than " + times(countable) + " times " + word
		}
		return times(ratio) + " times " + word
	}
	return fmt.Sprintf("(between %s and %s)", end(i.Low), end(i.High))
}
