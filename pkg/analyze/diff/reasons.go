package diff

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// unequal returns why a tail is not compared: the runs have different numbers of values,
// and a percentile far out moves with their number.
func (l *LevelResult) unequal(r *Row) (inference.NA, bool) {
	const tail = 90
	if r.Metric.pct < tail {
		return inference.NA{}, false
	}
	span := func(levels []*Level) (low, high int) {
		low = levels[0].n[r.Metric.of]
		for _, x := range levels {
			low, high = min(low, x.n[r.Metric.of]), max(high, x.n[r.Metric.of])
		}
		return low, high
	}
	oldLow, oldHigh := span(l.Old)
	newLow, newHigh := span(l.New)
	low, high := min(oldLow, newLow), max(oldHigh, newHigh)
	beyond := float64(low) * (1 - r.Metric.pct/100)
	if equalNumbers(low, high) || r.Metric.pct < 99 && beyond >= 10 {
		return inference.NA{}, false
	}
	return inference.NA{Reason: fmt.Sprintf("%s has %s values a run and %s %s, and a percentile so far out moves with their number; record as many", l.sides.old(), lowToHigh(oldLow, oldHigh), l.sides.new(), lowToHigh(newLow, newHigh))}, true
}

// equalNumbers reports whether the smallest and the largest number of values a run are within
// a tenth.
func equalNumbers(low, high int) bool { return 10*high <= 11*low }

// lowToHigh formats the smallest and the largest number of values a run: "60", "60 to 64".
func lowToHigh(low, high int) string {
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// RatesMove reports whether the rates of two sides differ because of the lengths of their runs.
// At the start and the end of a run, fewer requests are under way, for about the time of one
// request; the rate of a short run is lower by about half the share of that time. RatesMove is
// true if the numbers of requests differ by more than a tenth and these shares by more than one
// percentage point. Selected parts have no start and end.
func RatesMove(older, newer []*Level) bool {
	const most = 0.01
	all := slices.Concat(older, newer)
	if slices.ContainsFunc(all, func(l *Level) bool { return l.Selected != nil }) || equalNumbers(requestsSpan(all)) {
		return false
	}
	share := func(levels []*Level) float64 {
		sum := 0.0
		for _, l := range levels {
			sum += l.Statistic(e2elMean) / float64(l.DurationNS)
		}
		return sum / float64(len(levels))
	}
	return math.Abs(share(older)-share(newer)) > most // false for NaN: there are no rates
}

// requestsSpan returns the smallest and the largest number of finished requests of the levels.
func requestsSpan(levels []*Level) (low, high int) {
	low = levels[0].OK + levels[0].Failed
	for _, l := range levels {
		low, high = min(low, l.OK+l.Failed), max(high, l.OK+l.Failed)
	}
	return low, high
}

// missing returns why a row cannot be compared: a run lacks the metric.
func (l *LevelResult) missing(r *Row) (inference.NA, bool) {
	lacks := func(side string, runs []float64, levels []*Level) string {
		n, failed, none := 0, 0, 0
		for i, v := range runs {
			if !math.IsNaN(v) {
				continue
			}
			n++
			switch l := levels[i]; {
			case l.OK == 0 && l.Failed > 0:
				failed++
			case l.OK == 0:
				none++
			}
		}
		switch {
		case n == 0:
			return ""
		case none == n:
			return lackRequests(side, levels[0].Selected != nil, n, len(runs))
		case failed == n && len(runs) == 1:
			return "no request of the " + side + " run succeeded"
		case len(runs) == 1:
			return "the " + side + " run has no value" + because(levels, r.Metric.of)
		case failed == n:
			return fmt.Sprintf("no request succeeded in %d of %d %s runs", n, len(runs), side)
		}
		return fmt.Sprintf("%d of %d %s runs have no value", n, len(runs), side) + because(levels, r.Metric.of)
	}
	why := lacks(l.sides.old(), r.OldRuns, l.Old)
	if why == "" {
		why = lacks(l.sides.new(), r.NewRuns, l.New)
	}
	switch {
	case why != "":
	case r.Metric.IsRate() && RatesMove(l.Old, l.New):
		why = fmt.Sprintf("%s has %s requests a run and %s %s, and short runs have lower rates, because few requests run at their start and end; record as many",
			l.sides.old(), lowToHigh(requestsSpan(l.Old)), l.sides.new(), lowToHigh(requestsSpan(l.New)))
	default:
		return l.unequal(r)
	}
	return inference.NA{Reason: why}, true
}

// because returns a colon and the reason of the first level that gives a reason why it lacks a figure of
// quality; "" if no level gives a reason.
func because(levels []*Level, of quantity) string {
	for _, l := range levels {
		if why := l.noFigure[of]; why != "" {
			return ": " + why
		}
	}
	return ""
}

// lackRequests returns the message that n of the runs of a side have no request that counts or
// failed. For a selected part, the message says that no request started in the part.
func lackRequests(side string, selected bool, n, runs int) string {
	what := "has no request that counts"
	if selected {
		what = "has no request that started in the part selected"
	}
	if runs == 1 {
		return "the " + side + " run " + what
	}
	return fmt.Sprintf("of the %s runs %d of %d have %s", side, n, runs, strings.TrimPrefix(what, "has "))
}
