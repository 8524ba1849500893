package plan

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Within holds how much latencies may be off because a run has so few requests. The zero value is empty.
type Within struct {
	errors map[withinKey]standardError
}

// A standardError is the standard error of the logarithm of a metric of a run; why says why there is none.
type standardError struct {
	value float64
	why   string
}

type withinKey struct {
	run                 *diff.Run
	mode, value, metric string
}

// interval is the level of the intervals from which Within takes standard errors, and intervalZ the distance of their
// ends in standard errors, if they come from many values.
const (
	interval  = 0.95
	intervalZ = 1.959964
)

// Add adds the levels of a run, which must have been read with Config.Series and not be closed yet.
func (w *Within) Add(run *diff.Run) {
	if w.errors == nil {
		w.errors = map[withinKey]standardError{}
	}
	for i := range run.Levels {
		l := &run.Levels[i]
		for j := range diff.Metrics {
			m := &diff.Metrics[j]
			if m.IsRate() || !m.Primary && !diff.Judged(m, true) { // the intervals of rates are too wide in short runs
				continue
			}
			e := l.Within(m)
			ends := e.Interval(interval)
			se := standardError{(math.Log(ends.High) - math.Log(ends.Low)) / (2 * intervalZ), e.NA.Reason}
			if se.why == "" && !(se.value > 0 && !math.IsInf(se.value, 0)) {
				se.why = "the requests bound it on one side only"
			}
			w.errors[withinKey{run, l.Mode, l.Value, m.Key}] = se
		}
	}
}

// of returns the standard error of the logarithm of a metric within runs at a level: the root of the mean square. It is NaN
// if it is not known for a run; why says why.
func (w *Within) of(runs []*diff.Run, levels []*diff.Level, m *diff.Metric) (se float64, why string) {
	sum := 0.0
	for i, r := range runs {
		x, ok := w.errors[withinKey{r, levels[i].Mode, levels[i].Value, m.Key}]
		if !ok {
			return math.NaN(), "its requests were not read"
		}
		if x.why != "" {
			return math.NaN(), x.why
		}
		sum += x.value * x.value
	}
	return math.Sqrt(sum / float64(len(runs))), ""
}

// singleDF is the number of degrees of freedom of a comparison of two single runs, see [inference.Change].
const singleDF = 32

// requestsToFind returns how many requests a run a comparison of two single runs needs to find a change at the level
// alpha with the probability power, if a run of n requests has the standard error se and if runs do not
// differ otherwise. Standard errors fall with the root of the number of requests.
func requestsToFind(se float64, n int, change, alpha, power float64) float64 {
	t := func(p float64) float64 { return inference.StudentQuantile(p, singleDF) } // two-sided
	wanted := math.Log1p(change) / (math.Sqrt2 * (t(1-alpha) + t(2*power-1)))
	ratio := se / wanted
	return math.Ceil(float64(n) * ratio * ratio)
}
