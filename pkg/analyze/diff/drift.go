package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// apart says how the runs of two sides follow each other in time.
type apart uint8

const (
	unknownTurns apart = iota // a side has one run, or a run has no start time
	inTurn                    // runs of both sides alternate, or nearly so
	oneByOne                  // most runs of one side come before the runs of the other side
)

// String returns the value in JSON; "" if the order is not known.
func (a apart) String() string {
	return [...]string{unknownTurns: "", inTurn: "in-turn", oneByOne: "one-side-after-the-other"}[a]
}

// turns finds how the runs of two sides follow each other.
func (res *Result) turns() apart {
	if min(len(res.Old), len(res.New)) < 2 {
		return unknownTurns
	}
	place := places(slices.Concat(res.Old, res.New))
	if place == nil {
		return unknownTurns
	}
	o, n := mean(place[:len(res.Old)]), mean(place[len(res.Old):])
	// The distance of the average places is 1 for sides that do not overlap, and 1/k for k
	// runs a side that alternate.
	const overlap = 0.6
	if math.Abs(o-n) > overlap*float64(len(place))/2 {
		return oneByOne
	}
	return inTurn
}

// places returns the place of each run in the order of the starts of all; nil if a start is not known.
func places(runs []*Run) []float64 {
	order := make([]int, len(runs))
	starts := make([]uint64, len(runs))
	for i, r := range runs {
		ns, ok := r.Start()
		if !ok {
			return nil
		}
		order[i], starts[i] = i, ns
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(starts[a], starts[b]) })
	place := make([]float64, len(runs))
	for at, i := range order {
		place[i] = float64(at)
	}
	return place
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// A drift is the line that both sides follow from run to run, as the slope that fits both of them
// (analysis of covariance). It is on the scale of ln(value).
type drift struct {
	slope, slopeSE float64
	difference, se float64 // of the sides at the same time
	df             float64
}

// driftOf fits a drift to the values of two sides. ok is false if the values have none.
func driftOf(older, newer, olderAt, newerAt []float64) (d drift, ok bool) {
	var at, y [2]float64
	xx, xy, yy := 0.0, 0.0, 0.0
	for side, values := range [...][]float64{older, newer} {
		times := [...][]float64{olderAt, newerAt}[side]
		logs := make([]float64, len(values))
		for i, v := range values {
			if !(v > 0) || math.IsInf(v, 0) {
				return drift{}, false
			}
			logs[i] = math.Log(v)
		}
		at[side], y[side] = mean(times), mean(logs)
		for i := range logs {
			xx += (times[i] - at[side]) * (times[i] - at[side])
			xy += (times[i] - at[side]) * (logs[i] - y[side])
			yy += (logs[i] - y[side]) * (logs[i] - y[side])
		}
	}
	d.df = float64(len(older) + len(newer) - 3)
	if !(d.df > 0) || !(xx > 0) || !(yy > 0) {
		return drift{}, false
	}
	d.slope = xy / xx
	variance := math.Max(0, yy-xy*xy/xx) / d.df
	d.slopeSE = math.Sqrt(variance / xx)
	d.difference = y[1] - y[0] - d.slope*(at[1]-at[0])
	d.se = math.Sqrt(variance * (1/float64(len(older)) + 1/float64(len(newer)) + (at[1]-at[0])*(at[1]-at[0])/xx))
	return d, true
}

// p returns the two-sided p-value of no drift.
func (d *drift) p() float64 { return 2 * inference.StudentUpper(math.Abs(d.slope)/d.slopeSE, d.df) }

// interval returns the interval for the difference of the sides at the same time, as a ratio.
func (d *drift) interval(level float64) inference.Interval {
	half := inference.StudentQuantile(level, d.df) * d.se
	return inference.Interval{Low: math.Expm1(d.difference - half), High: math.Expm1(d.difference + half)}
}

// spoilDrifting takes the verdicts from the metrics of a level that drift, where the sides did not take
// turns: a drift moves the side that was recorded later. A verdict stays if it would be the same for
// sides recorded at the same time. If one metric drifts, the differences that were found in the others must stay, too:
// E2EL and the rate hold the TTFT, and may hide its drift in their noise.
func (res *Result) spoilDrifting(l *LevelDiff) {
	if res.apart != oneByOne || len(l.Old) < len(res.Old) || len(l.New) < len(res.New) {
		return
	}
	place := places(runsOf(l.Old, l.New))
	if place == nil {
		return
	}
	drifts := map[*Row]*drift{}
	why := ""
	for _, r := range l.Rows {
		if !r.Primary || r.Metric.of == failedShare || r.Verdict == inference.NotAvailable || r.Equal {
			continue
		}
		if d, ok := driftOf(r.OldRuns, r.NewRuns, place[:len(l.Old)], place[len(l.Old):]); ok {
			drifts[r] = &d
			if d.p() <= alpha && why == "" {
				why = fmt.Sprintf(noTurns+", and the runs of both drift (%s by %s %% from one to the next)", r.Metric.Name, sheet.Signed(math.Expm1(d.slope)))
			}
		}
	}
	if why == "" {
		return
	}
	for r, d := range drifts {
		at, same := d.interval(r.Level), true
		switch {
		case r.Verdict == inference.Better || r.Verdict == inference.Worse:
			same = at.Low > 0 && r.Change > 0 || at.High < 0 && r.Change < 0
		case d.p() <= alpha:
			same = within(d.interval(withinLevel), r.margin) && r.inMargin()
		}
		if !same {
			r.drifts, r.Verdict, r.Spoiled = true, inference.NotAvailable, why
		}
	}
}

// noTurns says that the runs of one side come after the runs of the other side.
const noTurns = "the sides did not take turns"

// mayBeDrift says in the first line that a difference may be a drift of the machine, because the sides did not
// take turns; "" if they did, or if no difference was found.
func (res *Result) mayBeDrift() string {
	different := slices.ContainsFunc(res.allLevels(), func(l *LevelDiff) bool {
		return slices.ContainsFunc(l.Rows, func(r *Row) bool {
			return r.Metric.of != failedShare && (r.Verdict == inference.Better || r.Verdict == inference.Worse)
		})
	})
	if res.apart != oneByOne || !different {
		return ""
	}
	return "; " + noTurns + ", so a drift of the machine may be the reason"
}

// turnsLine says that the sides did not take turns; "" if they did.
func (res *Result) turnsLine() string {
	if res.apart != oneByOne || len(res.Refused()) > 0 {
		return ""
	}
	return noTurns + ": a slow change of the machine looks like a difference; pa-record --interleave takes turns"
}
