package rig

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

const (
	// MinRuns is the smallest number of runs from which a deviation is estimated.
	MinRuns = 3
	// MaxRunsASide bounds Options.RunsASide and Row.Needed.
	MaxRunsASide = 1000

	power      = 0.8
	alpha      = 0.05 // at which a comparison judges its metrics together
	confidence = 0.95 // of intervals
)

// Options are the settings of an analysis.
type Options struct {
	// RunsASide are the numbers of runs a side, each from MinRuns to MaxRunsASide, for
	// which the smallest change is computed.
	RunsASide []int
	// Effect is a change above 0 for which the number of runs a side is computed; with 0,
	// none is computed.
	Effect float64
}

// A Result holds the estimates for the runs of a set.
type Result struct {
	Set     *diff.Set
	Options Options
	Levels  []*LevelSpread
}

// A LevelSpread has the rows of one load level.
type LevelSpread struct {
	*diff.Group
	// Rows has the metrics that some run has.
	Rows []*Row
}

// A Row holds the estimates for one metric.
type Row struct {
	Metric *diff.Metric
	Values []float64 // one per run, in the order of their starts; NaN for a run without the metric
	// NA says why only Values and Mean are present; "" if everything is. The share of failed
	// requests never has more: comparisons rank it, so no smallest change is known.
	NA string
	// Mean is the geometric mean of Values; the arithmetic mean if a value is not above 0.
	Mean float64
	// Deviation is the standard deviation of the logarithms, with its 95 % interval.
	Deviation         float64
	DeviationInterval inference.Interval
	Drift             Drift
	// Smallest holds, for each of Options.RunsASide, the smallest rise that Welch's t test
	// finds at 5 % in 80 % of all comparisons with that many runs a side.
	Smallest []float64
	// Needed is the number of runs a side that find Options.Effect; 0 if it was not asked
	// for, MaxRunsASide + 1 if it is larger than MaxRunsASide.
	Needed int
	Turns  Turns
}

// Analyze analyzes runs of one setting. If the set is not comparable, rows hold no more
// than Values and Mean.
func Analyze(set *diff.Set, o Options) *Result {
	res := &Result{Set: set, Options: o}
	refused := len(set.Refused()) > 0
	var design planner
	for _, level := range set.Levels {
		l := &LevelSpread{Group: level}
		for _, m := range diff.Metrics {
			values := l.Values(m)
			if !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
				continue
			}
			l.Rows = append(l.Rows, row(m, values, refused, o, &design))
		}
		res.Levels = append(res.Levels, l)
	}
	res.adjust()
	return res
}

// row analyzes the values of one metric.
func row(m *diff.Metric, values []float64, refused bool, o Options, design *planner) *Row {
	nan := math.NaN()
	r := &Row{
		Metric: m, Values: values, Mean: inference.MeanOfRuns(values), Deviation: nan, DeviationInterval: inference.Interval{Low: nan, High: nan},
		Drift: Drift{nan, inference.Interval{Low: nan, High: nan}, nan, nan}, Turns: Turns{nan, nan, nan, nan},
		Smallest: slices.Repeat([]float64{nan}, len(o.RunsASide)),
	}
	if r.NA = unusable(m, values, refused); r.NA != "" {
		return r
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	r.Deviation, _ = stats.StandardDeviationSample(logs) // there are values
	df := float64(len(values) - 1)
	r.DeviationInterval = inference.Interval{
		Low:  r.Deviation * math.Sqrt(df/chiSquareQuantile((1+confidence)/2, df)),
		High: r.Deviation * math.Sqrt(df/chiSquareQuantile((1-confidence)/2, df)),
	}
	r.Drift = driftOf(logs)
	r.Turns = turnsOf(logs)
	for i, n := range o.RunsASide {
		r.Smallest[i] = math.Expm1(r.Deviation * design.smallest(n))
	}
	if o.Effect > 0 {
		r.Needed = design.needed(math.Log1p(o.Effect) / r.Deviation)
	}
	return r
}

// ranked is the reason why the share of failed requests has no smallest change.
const ranked = "comparisons rank the runs by it, so no smallest change is known"

// unusable returns why no deviation can be estimated from values; "" if one can.
func unusable(m *diff.Metric, values []float64, refused bool) string {
	missing := 0
	for _, v := range values {
		if math.IsNaN(v) {
			missing++
		}
	}
	switch {
	case refused:
		return "the runs are not comparable"
	case len(values) < MinRuns:
		return fmt.Sprintf("the level has only %s, at least %d are needed", plural.Of(len(values), "run"), MinRuns)
	case m.Key == diff.KeyFailedShare:
		return ranked
	case missing > 0:
		return fmt.Sprintf("%d of %d runs %s no value", missing, len(values), plural.Form(missing, "has", "have"))
	case slices.Min(values) == slices.Max(values):
		return "no run differs from the others"
	case slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) }):
		return "a value that is not above 0 has no logarithm"
	}
	return ""
}

// adjust adjusts the p-values of the primary metrics of all levels by Holm's method. The
// p-values of drift are one family, the p-values of taking turns another.
func (res *Result) adjust() {
	var rows []*Row
	var drift, turns []float64
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			if r.Metric.Primary {
				rows, drift, turns = append(rows, r), append(drift, r.Drift.P), append(turns, r.Turns.P)
			}
		}
	}
	drift, turns = inference.Holm(drift), inference.Holm(turns)
	for i, r := range rows {
		r.Drift.Adjusted, r.Turns.Adjusted = drift[i], turns[i]
	}
}

// Unmeasured returns an error if no level has MinRuns runs; otherwise nil.
func (res *Result) Unmeasured() error {
	largest := 0
	for _, l := range res.Levels {
		largest = max(largest, len(l.Levels))
	}
	if largest < MinRuns {
		return fmt.Errorf("no load level has %d runs, so it is unknown how much runs differ", MinRuns)
	}
	return nil
}

// A Drift is a change of the values over the order of the runs.
type Drift struct {
	// Change is the change from the first run to the last, on the least-squares line
	// through the logarithms.
	Change float64
	// Interval is its 95 % interval: Student's t with n − 2 degrees of freedom.
	Interval inference.Interval
	// P is the two-sided p-value of "no drift".
	P float64
	// Adjusted is P adjusted by Holm's method over the primary metrics of all levels; NaN
	// for other metrics.
	Adjusted float64
}

// driftOf fits a line through at least 3 logarithms, in the order of the runs.
func driftOf(logs []float64) Drift {
	n := float64(len(logs))
	middle, mean := (n-1)/2, 0.0
	for _, y := range logs {
		mean += y / n
	}
	var sxx, sxy float64
	for i, y := range logs {
		x := float64(i) - middle
		sxx += x * x
		sxy += x * (y - mean)
	}
	slope := sxy / sxx
	residuals := 0.0
	for i, y := range logs {
		e := y - mean - slope*(float64(i)-middle)
		residuals += e * e
	}
	df := n - 2
	change := slope * (n - 1)
	se := math.Sqrt(residuals/df/sxx) * (n - 1)
	half := se * inference.StudentQuantile(confidence, df)
	d := Drift{math.Expm1(change), inference.Interval{Low: math.Expm1(change - half), High: math.Expm1(change + half)}, 1, math.NaN()}
	if change != 0 {
		d.P = 2 * inference.StudentUpper(math.Abs(change)/se, df) // 0 on a perfect line
	}
	return d
}

const (
	// minTurns is the smallest number of runs whose order is tested. 6 runs have 720 orders;
	// 5 runs have 120, too few for several metrics.
	minTurns = 6
	// maxAllOrders is the largest number of runs for which all orders are tried. With more
	// runs, randomOrders random orders are tried.
	maxAllOrders = 8
	randomOrders = 9999
)

// Turns compares the differences between successive runs with the differences between all
// runs. If a rig changes slowly, successive runs differ less. Two sides that are recorded in
// turn then differ less by chance than two sides that are recorded one after the other.
type Turns struct {
	// Neighbors is the deviation estimated from the differences between successive runs, in
	// logarithms: √(Σ(xᵢ₊₁−xᵢ)² / 2(n−1)). NaN if Row.Deviation is.
	Neighbors float64
	// Ratio is the variance of Neighbors over the variance of all runs, half of von
	// Neumann's ratio. Its expectation is 1 if the order of the runs does not matter.
	Ratio float64
	// P is the share of all orders of the runs whose ratio is at most Ratio; NaN for fewer
	// than 6 runs.
	P float64
	// Adjusted is P adjusted by Holm's method over the primary metrics of all levels; NaN
	// for other metrics.
	Adjusted float64
}

// turnsOf compares successive values among at least 2 logarithms that are not all equal.
func turnsOf(logs []float64) Turns {
	n := len(logs)
	mean, sum := 0.0, 0.0
	for _, x := range logs {
		mean += x / float64(n)
	}
	for _, x := range logs {
		sum += (x - mean) * (x - mean)
	}
	squares := successive(logs)
	t := Turns{Neighbors: math.Sqrt(squares / 2 / float64(n-1)), Ratio: squares / 2 / sum, P: math.NaN(), Adjusted: math.NaN()}
	if n >= minTurns {
		t.P = orderP(logs)
	}
	return t
}

// successive returns Σ(xᵢ₊₁−xᵢ)².
func successive(x []float64) float64 {
	sum := 0.0
	for i := 1; i < len(x); i++ {
		sum += (x[i] - x[i-1]) * (x[i] - x[i-1])
	}
	return sum
}

// orderP returns the share of orders of x whose sum of squared successive differences is at
// most the sum for x as given. It tries all orders of up to maxAllOrders values, otherwise the
// given order and randomOrders random ones.
func orderP(x []float64) float64 {
	limit := successive(x) * (1 + 1e-9) // the sums of one order and its reverse may differ by rounding
	order := append([]float64(nil), x...)
	atMost, all := 0, 0
	count := func() {
		all++
		if successive(order) <= limit {
			atMost++
		}
	}
	if len(x) <= maxAllOrders {
		permute(order, len(order), count)
		return float64(atMost) / float64(all)
	}
	count()
	random := rand.New(rand.NewPCG(1, uint64(len(x))))
	for range randomOrders {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		count()
	}
	return float64(atMost) / float64(all)
}

// permute calls f for each order of the first n values of x (Heap's algorithm). It leaves x
// in another order.
func permute(x []float64, n int, f func()) {
	if n <= 1 {
		f()
		return
	}
	for i := range n {
		permute(x, n-1, f)
		if n%2 == 0 {
			x[i], x[n-1] = x[n-1], x[i]
		} else {
			x[0], x[n-1] = x[n-1], x[0]
		}
	}
}
