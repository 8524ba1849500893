package diff

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A count is the requests of a run that failed, and all that finished.
type count struct{ failed, all int }

func (c count) plus(d count) count { return count{c.failed + d.failed, c.all + d.all} }

func (c count) allFailed() bool { return c.failed > 0 && c.failed == c.all }

func (c count) share() float64 { return float64(c.failed) / float64(c.all) }

// failures are the failed requests of a comparison, by run.
type failures struct {
	older, newer []count
	// tests is the number of levels at which failures are compared.
	tests int
	// known is false if a file lacks requests, so that their number is not known.
	known bool
}

const (
	failureAlpha = 0.01 // of FailsMore, for all levels together
	mayFailAlpha = 0.10 // a larger share may be more than chance up to this p-value
	failurePoint = 0.01 // a smaller difference of two shares matters to nobody
)

// countsOf returns the counts of a side.
func countsOf(levels []*RunLevel) []count {
	var all []count
	for _, l := range levels {
		all = append(all, count{l.Failed, l.OK + l.Failed})
	}
	return all
}

// sum returns the counts of all runs together.
func sum(runs []count) (all count) {
	for _, c := range runs {
		all = all.plus(c)
	}
	return all
}

// dispersion returns how many times as much the shares of failed requests of the runs of a side vary as
// they would if each request failed by itself; at least 1. A short outage makes many requests of one run
// fail together, and then so many requests are worth one.
// df are the degrees of freedom of that; +Inf if it is 1.
func (f *failures) dispersion() (d, df float64) {
	squares := 0.0
	for _, side := range [...][]count{f.older, f.newer} {
		p := sum(side).share()
		if !(p > 0 && p < 1) || len(side) < 2 {
			continue
		}
		for _, c := range side {
			if c.all > 0 {
				off := float64(c.failed) - float64(c.all)*p
				squares += off * off / (float64(c.all) * p * (1 - p))
				df++
			}
		}
		df--
	}
	// Chance alone exceeds the limit about once in fifteen comparisons.
	if d = squares / df; df > 0 && d > 1+1.5*math.Sqrt(2/df) {
		return d, df
	}
	return 1, math.Inf(1)
}

// worth returns the number of independent requests that the count is worth.
func (c count) worth(dispersion float64) count {
	return count{int(math.Round(float64(c.failed) / dispersion)), int(math.Round(float64(c.all) / dispersion))}
}

// more reports whether new fails more than old, and the p-value of that.
func (f *failures) more(older, newer count) (found bool, p float64) {
	d, df := f.dispersion()
	o, n := older.worth(d), newer.worth(d)
	p = inference.MoreFailures(o.failed, o.all, n.failed, n.all)
	if d > 1 && p < 0.5 { // the dispersion is an estimate, as the deviation is in a t-test
		const known = 4 // degrees of freedom for what is known beforehand: the dispersion is not tiny
		p = inference.StudentUpper(math.Sqrt2*math.Erfinv(1-2*p), df+known)
	}
	// The shares are compared by the counts themselves, which are not rounded.
	return p*float64(max(f.tests, 1)) <= failureAlpha && inference.FailsMore(o.failed, o.all, n.failed, n.all) &&
		newer.share()-older.share() > failurePoint, p
}

// verdict returns whether new fails more (Worse) or less (Better) than old, and the p-value.
func (f *failures) verdict() (inference.Verdict, float64) {
	o, n := sum(f.older), sum(f.newer)
	if !f.known || o.all == 0 || n.all == 0 {
		return inference.NotAvailable, math.NaN()
	}
	if found, p := f.more(o, n); found {
		return inference.Worse, p
	} else if p < 0.5 {
		return inference.NoDifference, p
	}
	found, p := f.more(n, o)
	if found {
		return inference.Better, p
	}
	return inference.NoDifference, p
}

// doubt returns why the failures leave open whether new fails more or less; "" if they do not.
func (f *failures) doubt(l *LevelDiff) string {
	v, p := f.verdict()
	o, n := sum(f.older), sum(f.newer)
	d, _ := f.dispersion()
	clustered := d > 1
	if v != inference.NoDifference || !(p <= mayFailAlpha) || math.Abs(n.share()-o.share()) <= failurePoint {
		if v == inference.NoDifference && math.Abs(n.share()-o.share()) > failurePoint && clustered {
			return f.clustered(l)
		}
		return ""
	}
	if clustered {
		return f.clustered(l)
	}
	return fmt.Sprintf("%s of the requests; that few failures may be chance: record more requests", l.failed())
}

// clustered says that failures came together in some runs.
func (f *failures) clustered(l *LevelDiff) string {
	return fmt.Sprintf("%s of the requests, but the failures came together in some of the runs; record more runs", l.failed())
}

// failed returns the shares of failed requests: "failed 20 % instead of 0 %".
func (l *LevelDiff) failed() string {
	o, n := sheet.ShareInSentence(sum(l.failures.older).share()), sheet.ShareInSentence(sum(l.failures.newer).share())
	if o == n {
		return "failed " + n + " on both sides"
	}
	return fmt.Sprintf("failed %s instead of %s", n, o)
}

// few returns whether the requests are too few to show that the shares of failed requests differ by less
// than a percentage point: the 90 % interval of their difference by Newcombe's method (Statistics in
// Medicine 17, 1998) reaches farther.
func (f *failures) few() bool {
	o, n := sum(f.older), sum(f.newer)
	wilson := func(c count) inference.Interval {
		const z = 1.6448536269514722
		all, p := float64(c.all), c.share()
		center, half := p+z*z/(2*all), z*math.Sqrt(p*(1-p)/all+z*z/(4*all*all))
		return inference.Interval{Low: (center - half) / (1 + z*z/all), High: (center + half) / (1 + z*z/all)}
	}
	a, b := wilson(o), wilson(n)
	d := n.share() - o.share()
	high := d + math.Hypot(b.High-n.share(), o.share()-a.Low)
	low := d - math.Hypot(n.share()-b.Low, a.High-o.share())
	return !(high < failurePoint && low > -failurePoint)
}

// countFailures makes the row of the shares of failed requests, which are compared by counts.
func (l *LevelDiff) countFailures(r *Row) {
	l.bare(r, inference.NA{Reason: "shares of failed requests are compared by their counts (Fisher's exact test), without an interval"})
	if o, n := sum(l.failures.older), sum(l.failures.newer); l.failures.known {
		r.Old.Value, r.New.Value = o.share(), n.share()
	}
	_, r.P = l.failures.verdict()
}
