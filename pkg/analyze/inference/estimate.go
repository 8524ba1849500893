package inference

import (
	"fmt"
	"math"
)

// An NA says why there is no interval. Its zero value means that there is one.
type NA struct {
	// Reason is for people: lower case, no full stop, empty if there is an
	// interval.
	Reason string

	// Needs is the approximate number of values (or runs, or pairs) a side that
	// would be enough; 0 if more of them would not help.
	Needs int
}

// Missing reports whether there is no interval.
func (n NA) Missing() bool { return n.Reason != "" }

// String returns "n/a (needs 1300)", "n/a" or, where nothing is missing, "".
func (n NA) String() string {
	switch {
	case !n.Missing():
		return ""
	case n.Needs > 0:
		return fmt.Sprintf("n/a (needs %d)", n.Needs)
	default:
		return "n/a"
	}
}

// An Interval is a confidence interval, ends included. An end may be infinite
// where the data bounds it on one side only; both are NaN if there is none.
type Interval struct{ Low, High float64 }

// Contains reports whether v lies in the interval; never if there is none.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

func none() Interval { return Interval{math.NaN(), math.NaN()} }

// An Estimate is a statistic of one side, with its confidence intervals.
type Estimate struct {
	// Value is the statistic itself, in the unit of the data. It may exist without
	// an interval; NaN if it cannot be computed.
	Value float64

	// N is the number of values, runs or pairs that it comes from.
	N int

	// EffectiveN is the number of independent values that would give the same
	// precision, at most N: N divided by the autocorrelation time of the values. For a
	// quantile, a value counts as 1 below the quantile and as 0 above it. EffectiveN is
	// 0 if unknown, and N for several runs.
	EffectiveN float64

	// NA says why there is no interval.
	NA NA

	pivot pivot

	constant bool // all values are the same, and their intervals have no width

	tau    float64        // autocorrelation time of the values, see [spread]
	few    bool           // the series has too few values for the pivot
	series *Series        // nil if the estimate is of several series, or needs many values
	small  *smallEstimate // the estimate from few values; nil if there are enough
}

// orSmall gives the estimate of the quantile p of a series with few values the interval
// of a [smallEstimate], if there is one. A mean passes ½.
func (e Estimate) orSmall(s *Series, p float64, of func() *smallEstimate) Estimate {
	if e.NA.Missing() && !e.few {
		return e
	}
	if s.nested {
		return e
	}
	e.series = s
	if !e.few {
		return e
	}
	if n := s.x.Len(); n < minSmall {
		e.NA = NA{Reason: fmt.Sprintf("%d %s; at least %d are needed", n, s.noun, minSmall), Needs: s.minValues(p)}
		return e
	}
	if s.x.Len() > maxSmall {
		return e
	}
	e.small = of()
	return e.given(s.dependence().weights(e.small.noise))
}

// given returns an estimate from few values if their dependence has the probabilities w.
func (e Estimate) given(w dependenceWeights) Estimate {
	if e.NA = e.small.missing(&w); !e.NA.Missing() {
		e.pivot = e.small.pivot(&w)
	}
	return e
}

// alike returns the estimates of two runs, at least one of them with few values: the
// dependence in one run says something about the dependence in the other run.
func alike(older, newer Estimate) (o, n Estimate) {
	if older.small == nil && newer.small == nil || older.series == nil || newer.series == nil ||
		min(older.series.x.Len(), newer.series.x.Len()) < minSmall {
		return older, newer
	}
	noise := older.small != nil && older.small.noise || newer.small != nil && newer.small.noise
	w := sharedWeights(older.series.dependence(), newer.series.dependence(), noise)
	for side, e := range [...]*Estimate{&older, &newer} {
		if e.small != nil {
			*e = e.given(w[side])
		}
	}
	return older, newer
}

// kept returns the estimate as a comparison keeps it: without the values, unless its interval needs them.
func (e Estimate) kept() Estimate {
	e.series, e.small = nil, nil
	if e.NA.Missing() {
		e.pivot = pivot{}
	}
	return e
}

// Interval returns the confidence interval at the given level, such as 0.95. A
// level outside (0, 1) gives none.
func (e *Estimate) Interval(level float64) Interval {
	if e.NA.Missing() {
		return none()
	}
	return e.pivot.at(level)
}

// A pivot is a family of intervals: one for every quantile t of Student's
// distribution with df degrees of freedom. The ends move outwards as t grows. At
// t = 0 they meet at the estimate, or are half a step of the values away from it. All intervals and p-values are read from
// one, so that they agree.
type pivot struct {
	df   float64
	ends func(t float64) Interval
}

// apart returns a pivot whose ends are further apart by half on either side.
func (p pivot) apart(half float64) pivot {
	return pivot{p.df, func(t float64) Interval {
		ends := p.ends(t)
		return Interval{ends.Low - half, ends.High + half}
	}}
}

func (p *pivot) at(level float64) Interval {
	if p.ends == nil || !(level > 0 && level < 1) {
		return none()
	}
	return p.ends(StudentQuantile(level, p.df))
}

// pValue returns 1 − the highest level whose interval leaves out 0, on the
// scale of the pivot: the two-sided p-value of "it is 0".
func (p *pivot) pValue() float64 {
	if p.ends == nil {
		return math.NaN()
	}
	// beyond is how far the nearer end is beyond 0, and negative if 0 is inside.
	beyond := func(t float64) float64 {
		ends := p.ends(t)
		return math.Max(ends.Low, -ends.High)
	}
	if !(beyond(0) > 0) {
		return 1
	}
	lo, hi := 0.0, 1.0
	for beyond(hi) > 0 {
		lo, hi = hi, hi*2
		if StudentUpper(lo, p.df) == 0 {
			return 0
		}
	}
	return 2 * StudentUpper(fallingRoot(beyond, lo, hi), p.df)
}

// unavailable returns an estimate without an interval.
func unavailable(value float64, n int, reason string) Estimate {
	return Estimate{Value: value, N: n, NA: NA{Reason: reason}}
}

// usable reports whether v is a number that can be squared without leaving
// the range in which a float64 has its full precision.
func usable(v float64) bool {
	const least, most = 1e-150, 1e150
	a := math.Abs(v)
	return a == 0 || a >= least && a <= most
}
