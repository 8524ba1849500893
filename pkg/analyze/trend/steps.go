package trend

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

const (
	alpha      = 0.05
	confidence = 0.95
	// minPerSide is the smallest number of points on either side of a comparison.
	minPerSide = 3
)

// A Step is a lasting change of a metric from one point to the next.
type Step struct {
	At int // index of the first point after the change
	// Change is the geometric mean of the points after the step, divided by the geometric mean
	// of the points before, minus 1. Both sides end at the neighboring steps.
	Change   float64
	Interval inference.Interval // at 95 %
	P        float64            // adjusted for all comparisons and metrics that were tried
}

// stepsOf finds the steps in values, which holds one value per point. family is the number of
// metrics that are searched.
//
// It makes two kinds of comparisons by Student's t test, with at least minPerSide points on
// either side: the points before a place with the points after it, and a middle part with
// the points around it. It multiplies the smallest p-value of each kind by the number of
// comparisons of the kind, by 2 for the two kinds, and by family. If the smaller product is
// at most 5 %, that comparison gives one or two steps, and each part between them is
// searched in the same way.
//
// A change of fewer points than minPerSide is found at a place beside its own, where it fills
// minPerSide points together with others. place therefore moves each step to where it fits the
// points best. One point that is off is no lasting change: it is left out, and the others are
// searched again.
func stepsOf(values []float64, family int) []Step {
	kept := usablePoints(values) // indices of the values that are searched
	for {
		steps, single := placedSteps(values, kept, family)
		if single < 0 {
			return steps
		}
		kept = slices.Delete(kept, single, single+1)
	}
}

// placedSteps returns the steps among the kept values. single is the index in kept of a value
// that is alone between two steps or beyond one, and -1 if there is none.
func placedSteps(all []float64, kept []int, family int) (steps []Step, single int) {
	values := pick(all, kept)
	rounding := roundingOf(values)
	search(values, 0, len(values), float64(family), rounding, &steps)
	slices.SortFunc(steps, func(a, b Step) int { return a.At - b.At })
	bounds := place(values, steps)
	for i := 1; i < len(bounds); i++ {
		if len(steps) > 0 && bounds[i]-bounds[i-1] == 1 {
			return nil, bounds[i-1]
		}
	}
	for i := range steps {
		s := &steps[i]
		s.Change, s.Interval, _ = student(values[bounds[i]:bounds[i+1]], values[bounds[i+1]:bounds[i+2]], rounding)
		s.At = kept[bounds[i+1]]
	}
	return steps, -1
}

// maxMoves bounds how often place looks at each step again after a neighbor moved.
const maxMoves = 10

// place moves each step, between its neighbors, to where the squared deviations from the means
// before and after it are smallest. It returns the first point of each part and the number of
// values.
func place(values []float64, steps []Step) (bounds []int) {
	bounds = append(bounds, 0)
	for _, s := range steps {
		bounds = append(bounds, s.At)
	}
	bounds = append(bounds, len(values))
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	for range maxMoves {
		moved := false
		for i := 1; i+1 < len(bounds); i++ {
			from, to := bounds[i-1], bounds[i+1]
			best, least := bounds[i], deviance(logs[from:bounds[i]])+deviance(logs[bounds[i]:to])
			for at := from + 1; at < to; at++ {
				if q := deviance(logs[from:at]) + deviance(logs[at:to]); q < least {
					best, least = at, q
				}
			}
			moved = moved || best != bounds[i]
			bounds[i] = best
		}
		if !moved {
			break
		}
	}
	return bounds
}

// deviance returns the sum of the squared deviations from the mean.
func deviance(x []float64) (sum float64) {
	mean := 0.0
	for i, v := range x {
		d := v - mean
		mean += d / float64(i+1)
		sum += d * (v - mean)
	}
	return sum
}

// A candidate is the best comparison of one kind so far: the points from from up to to with
// the other points.
type candidate struct {
	from, to int
	p        float64
	tried    float64 // number of comparisons of this kind
}

// try keeps the comparison if it is the best of its kind so far.
func (c *candidate) try(from, to int, part, others []float64, rounding float64) {
	c.tried++
	if _, _, _, p := compared(part, others, rounding); p < c.p {
		c.from, c.to, c.p = from, to, p
	}
}

// student returns the change from older to newer, its interval at confidence, and the
// p-value of compared.
func student(older, newer []float64, rounding float64) (change float64, ends inference.Interval, p float64) {
	d, se, df, p := compared(older, newer, rounding)
	if !(se > 0) {
		return math.Expm1(d), inference.Interval{Low: math.Expm1(d), High: math.Expm1(d)}, p
	}
	t := inference.StudentQuantile(confidence, df)
	return math.Expm1(d), inference.Interval{Low: math.Expm1(d - t*se), High: math.Expm1(d + t*se)}, p
}

// compared compares the logarithms of two sides, together at least 3 positive values, by
// Student's t test, which assumes one deviation for both sides. Welch's test estimates two
// deviations and is inaccurate for 3 points against many; the smallest of many p-values
// would pick such a comparison. compared returns the difference of the means, its standard
// error and degrees of freedom, and the p-value: NaN if the standard error is not positive. rounding
// is the least variance of a value, see roundingOf.
func compared(older, newer []float64, rounding float64) (d, se, df, p float64) {
	var means, squares [2]float64
	for side, values := range [2][]float64{older, newer} {
		for i, v := range values {
			means[side] += (math.Log(v) - means[side]) / float64(i+1)
		}
		for _, v := range values {
			d := math.Log(v) - means[side]
			squares[side] += d * d
		}
	}
	n0, n1 := float64(len(older)), float64(len(newer))
	df = n0 + n1 - 2
	se = math.Sqrt(math.Max((squares[0]+squares[1])/df, rounding) * (1/n0 + 1/n1))
	d = means[1] - means[0]
	if !(se > 0) {
		return d, se, df, math.NaN()
	}
	return d, se, df, 2 * inference.StudentUpper(math.Abs(d)/se, df)
}

// roundingOf returns the variance of ln(value) that comes from rounding alone. If some values are equal, the
// clock is coarse, and the steps of its grid are no wider than the smallest difference between two values; a
// value then deviates evenly over such a step. It is 0 if all values differ, or none does.
func roundingOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	step, ties := math.Inf(1), false
	for i := 1; i < len(sorted); i++ {
		if equal(sorted[i-1], sorted[i]) {
			ties = true
		} else {
			step = math.Min(step, math.Log(sorted[i]/sorted[i-1]))
		}
	}
	if !ties || math.IsInf(step, 1) {
		return 0
	}
	const even = 12 // the variance of an even distribution is the square of its width divided by this
	return step * step / even
}

// search appends the steps among the points from from up to to.
func search(values []float64, from, to int, family, rounding float64, steps *[]Step) {
	split, middle := candidate{p: math.Inf(1)}, candidate{p: math.Inf(1)}
	for at := from + minPerSide; at+minPerSide <= to; at++ {
		split.try(from, at, values[from:at], values[at:to], rounding)
		for end := at + minPerSide; end+minPerSide <= to; end++ {
			middle.try(at, end, values[at:end], slices.Concat(values[from:at], values[end:to]), rounding)
		}
	}
	const kinds = 2
	best := split
	if middle.p*middle.tried < split.p*split.tried {
		best = middle
	}
	p := best.p * best.tried * kinds * family
	if !(p <= alpha) {
		return
	}
	if best.from > from {
		*steps = append(*steps, Step{At: best.from, P: p})
		search(values, from, best.from, family, rounding, steps)
	}
	*steps = append(*steps, Step{At: best.to, P: p})
	search(values, best.from, best.to, family, rounding, steps)
	search(values, best.to, to, family, rounding, steps)
}
