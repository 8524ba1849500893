package diff

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// unsteady says that single runs begin with cold requests or drift, with what to do: "the first 3 requests of
// both runs took 10 times as long as the others; --trim-start leaves them out"; "" if they do neither.
func (l *LevelDiff) unsteady() string {
	if text := l.coldStart(); text != "" {
		return text
	}
	o, n := l.Old[0].drift(), l.New[0].drift()
	drifts := func(subject string, by ...string) string {
		return fmt.Sprintf("TTFT drifts within %s (%s from the first request to the last); find out why, or use --repeat 5", subject, strings.Join(by, " and "))
	}
	text := func(v float64) string { return sheet.Signed(v) + " %" }
	switch {
	case o != 0 && n != 0:
		return drifts("both runs", text(o), text(n))
	case o != 0:
		return drifts("the "+l.sides.old()+" run", text(o))
	case n != 0:
		return drifts("the "+l.sides.new()+" run", text(n))
	}
	return ""
}

// coldStart names the requests at the start of single runs that took longer than the others; "" without any.
func (l *LevelDiff) coldStart() string {
	o, n := l.Old[0].firstRequests(), l.New[0].firstRequests()
	text := func(k int, subject, factor string) string {
		first, pronoun := "request", "it"
		if k > 1 {
			first, pronoun = plural.Of(k, "request"), "them"
		}
		return fmt.Sprintf("the first %s of %s took %s times as long as the others; --trim-start leaves %s out", first, subject, factor, pronoun)
	}
	one := func(s inference.Start) string { return fmt.Sprintf("%.2g", s.Factor) }
	switch {
	case !o.Differs() && !n.Differs():
		return ""
	case !n.Differs():
		return text(o.N, "the "+l.sides.old()+" run", one(o))
	case !o.Differs():
		return text(n.N, "the "+l.sides.new()+" run", one(n))
	case one(o) == one(n):
		return text(max(o.N, n.N), "both runs", one(o))
	}
	return text(max(o.N, n.N), "both runs", one(o)+" and "+one(n))
}

// firstRequests returns the first requests of a run that took longer than the others, by TTFT or else by E2EL.
func (l *RunLevel) firstRequests() inference.Start {
	for _, q := range [...]quantity{ttft, e2el} {
		if s := inference.StartOf(l.inTime(q)); s.Differs() {
			return s
		}
	}
	return inference.Start{}
}

// drift returns the change of TTFT from the first request of a run to the last; 0 if it does not drift.
func (l *RunLevel) drift() float64 {
	if s := inference.SlopeOf(l.inTime(ttft)); s.Drifts() {
		return s.Change
	}
	return 0
}

// inTime returns the values of a quantity in the order of time; nil for so many that they do not fit well in
// memory. So many also need no explanation of why they are too few.
func (l *RunLevel) inTime(q quantity) []float64 {
	const most = 100_000
	values := listed(l.follow.series[q])
	n := values.Len()
	if n > most {
		return nil
	}
	all := make([]float64, 0, n)
	for len(all) < n {
		from, block := values.Block(len(all))
		all = append(all, block[len(all)-from:]...)
	}
	return all
}

// unequal returns why a tail is not compared: the runs have different numbers of values,
// and a percentile far out moves with their number.
func (l *LevelDiff) unequal(r *Row) (inference.NA, bool) {
	const tail = 90
	if r.Metric.pct < tail {
		return inference.NA{}, false
	}
	span := func(levels []*RunLevel) (low, high int) {
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
	return inference.NA{Reason: fmt.Sprintf("%s has %s values a run and %s %s, and a percentile so far out depends on their number; record the same number", l.sides.old(), lowToHigh(oldLow, oldHigh), l.sides.new(), lowToHigh(newLow, newHigh))}, true
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
func RatesMove(older, newer []*RunLevel) bool {
	const most = 0.01
	all := slices.Concat(older, newer)
	if slices.ContainsFunc(all, func(l *RunLevel) bool { return l.Selected != nil }) || equalNumbers(requestsSpan(all)) {
		return false
	}
	share := func(levels []*RunLevel) float64 {
		sum := 0.0
		for _, l := range levels {
			sum += l.Statistic(e2elMean) / float64(l.DurationNS)
		}
		return sum / float64(len(levels))
	}
	return math.Abs(share(older)-share(newer)) > most // false for NaN: there are no rates
}

// requestsSpan returns the smallest and the largest number of finished requests of the levels.
func requestsSpan(levels []*RunLevel) (low, high int) {
	low = levels[0].OK + levels[0].Failed
	for _, l := range levels {
		low, high = min(low, l.OK+l.Failed), max(high, l.OK+l.Failed)
	}
	return low, high
}

// missing returns why a row cannot be compared: a run lacks the metric.
func (l *LevelDiff) missing(r *Row) (inference.NA, bool) {
	lacks := func(side string, runs []float64, levels []*RunLevel) string {
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
		return fmt.Sprintf("%d of %d %s runs %s no value", n, len(runs), side, plural.Form(n, "has", "have")) + because(levels, r.Metric.of)
	}
	why := lacks(l.sides.old(), r.OldRuns, l.Old)
	if why == "" {
		why = lacks(l.sides.new(), r.NewRuns, l.New)
	}
	switch {
	case why != "":
	case r.Metric.IsRate() && RatesMove(l.Old, l.New):
		why = fmt.Sprintf("%s has %s requests a run and %s %s, and short runs have lower rates, because few requests run at their start and end; record the same number",
			l.sides.old(), lowToHigh(requestsSpan(l.Old)), l.sides.new(), lowToHigh(requestsSpan(l.New)))
	default:
		return l.unequal(r)
	}
	return inference.NA{Reason: why}, true
}

// because returns a colon and the reason of the first level that gives a reason why it lacks a figure of
// quality; "" if no level gives a reason.
func because(levels []*RunLevel, q quantity) string {
	for _, l := range levels {
		if why := l.noFigure[q]; why != "" {
			return ": " + why
		}
	}
	return ""
}

// lackRequests returns the message that n of the runs of a side have no request that counts or
// failed. For a selected part, the message says that no request started in the part.
func lackRequests(side string, selected bool, n, runs int) string {
	what := "no request that counts"
	if selected {
		what = "no request that started in the part selected"
	}
	if runs == 1 {
		return "the " + side + " run has " + what
	}
	return fmt.Sprintf("%d of %d %s runs %s %s", n, runs, side, plural.Form(n, "has", "have"), what)
}

// A metric is spoiled if a share of its run is above one of these limits.
const (
	maxTogether = 0.05 // share of tokens that arrived together with the previous one
	maxPaused   = 0.01 // share of requests that a pause touched; for medians
)

// Spoils returns why a metric of the level gets no verdict; "" if it may get one. The
// reasons are:
//
//   - The client may have been the limit. Every time and rate may then describe the client.
//   - More than 5 % of the tokens arrived together with the previous one. Their gaps are
//     unknown, so the percentiles of ITL are too. The mean ITL and TPOT are not affected.
//   - The recorder paused, and the pauses are not left out. Rates, means and tails contain
//     the pauses; medians do if the pauses touched more than 1 % of the requests.
//   - The clock was set. Times that were being measured then are wrong, and means and tails
//     contain them.
func (l *RunLevel) Spoils(m *Metric) string {
	if m.of == failedShare || m.of == tokensPerEvent {
		return ""
	}
	median := m.pct == 50
	switch {
	case len(l.Saturated) > 0:
		return "the client may be the limit"
	case (m.of == itl || m.of == itlPerToken) && m.pct > 0 && l.together() > maxTogether:
		return fmt.Sprintf("%s of the tokens arrived together with the previous one", sheet.Share(l.together()))
	case len(l.Pauses) > 0 && !l.Run.cfg.Selection.WithoutPauses && (!median || float64(l.Paused) > maxPaused*float64(l.OK+l.Failed)):
		return fmt.Sprintf("the recorder paused, which touched %s", plural.Of(l.Paused, "request"))
	case l.Run.clockSteps+l.Backward > 0 && (m.of < seriesQuantities || m.Quality) && !median:
		return "the clock was set while the run was recorded"
	}
	return ""
}

// together returns the share of tokens that arrived together with the previous one; 0
// without tokens.
func (l *RunLevel) together() float64 {
	if l.TokenEvents == 0 {
		return 0
	}
	return float64(l.Together) / float64(l.TokenEvents)
}

// spoiled returns why a metric gets no verdict: the first reason that Spoils finds in the
// runs of both sides, and the run; "" if Spoils finds none.
func (l *LevelDiff) spoiled(m *Metric) string {
	for _, side := range [...]struct {
		name   string
		levels []*RunLevel
	}{{l.sides.old(), l.Old}, {l.sides.new(), l.New}} {
		for _, x := range side.levels {
			if why := x.Spoils(m); why != "" {
				run := "the " + side.name + " run"
				if len(side.levels) > 1 {
					run = x.Run.Name
				}
				return fmt.Sprintf("%s in %s", why, run)
			}
		}
	}
	return ""
}
