package rig

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A welchDesign is Welch's two-sided t test at a level between two sides of n runs with equal
// deviations.
//
// Let u be one side's sample variance divided by the sum of both. The test's degrees of
// freedom depend only on u, see [inference.DegreesOfFreedom]. With equal deviations u has a
// beta distribution with both parameters (n − 1)/2 and is independent of the sum, and the
// statistic has a noncentral t distribution with 2n − 2 degrees of freedom. The power is
// therefore exactly the mean over u of the distribution's tails beyond the critical value
// at u.
type welchDesign struct {
	n        float64
	weight   []float64 // weight of each node of u; the weights sum to 1
	critical []float64 // t at each node
	pooled   *pooledDeviation
	least    float64 // see smallest; 0 before its first call
}

// welchDesignOf returns the design with even numbers of intervals between the nodes of u and of the pooled deviation.
func welchDesignOf(n int, alpha float64, nodes, pooled int) *welchDesign {
	d := &welchDesign{n: float64(n), pooled: newPooledDeviation(float64(2*n-2), pooled)}
	// With u = sin²(π/4 + x) the density is proportional to cos(2x)ⁿ⁻², even in x and at
	// most exp(−2(n−2)x²).
	end := math.Pi / 4
	if n > 2 {
		end = math.Min(end, 4/math.Sqrt(float64(n-2)))
	}
	sum := 0.0
	for i := range nodes + 1 {
		x := end * float64(i) / float64(nodes)
		w := simpson(i, nodes) * math.Pow(math.Max(0, math.Cos(2*x)), float64(n-2))
		sine := math.Sin(2 * x) // u = (1 + sine)/2
		d.weight = append(d.weight, w)
		d.critical = append(d.critical, inference.StudentQuantile(1-alpha, inference.DegreesOfFreedom((1+sine)/2, d.n, (1-sine)/2, d.n)))
		sum += w
	}
	for i := range d.weight {
		d.weight[i] /= sum
	}
	return d
}

// power returns the probability that the test finds a difference of effect standard
// deviations.
func (d *welchDesign) power(effect float64) float64 {
	shift := effect * math.Sqrt(d.n/2)
	sum := 0.0
	for i, w := range d.weight {
		if w > 0 {
			sum += w * d.pooled.tails(d.critical[i], shift)
		}
	}
	return sum
}

// within returns the probability that two one-sided tests, each at half of the level, show that the sides differ
// by less than margin standard deviations, if they do not differ.
func (d *welchDesign) within(margin float64) float64 {
	edge := margin * math.Sqrt(d.n/2)
	sum := 0.0
	for i, w := range d.weight {
		for j, s := range d.pooled.s {
			if inside := edge - d.critical[i]*s; inside > 0 {
				sum += w * d.pooled.weight[j] * math.Erf(inside/math.Sqrt2)
			}
		}
	}
	return sum
}

// smallest returns the effect, in standard deviations, that the test finds with
// probability 80 %.
func (d *welchDesign) smallest() float64 {
	if d.least > 0 {
		return d.least
	}
	low, high := 0.0, 1.0
	for d.power(high) < power {
		low, high = high, 2*high
	}
	for high-low > 1e-7*high {
		if middle := (low + high) / 2; d.power(middle) < power {
			low = middle
		} else {
			high = middle
		}
	}
	d.least = high
	return high
}

// A pooledDeviation is the distribution of S, where S² is chi-square over its degrees of freedom: nodes of
// Simpson's rule, with the density normalized by the same rule.
type pooledDeviation struct{ s, weight []float64 } // the weights sum to 1

// newPooledDeviation returns the distribution for df degrees of freedom, with an even number of intervals between
// nodes.
func newPooledDeviation(df float64, nodes int) *pooledDeviation {
	p := &pooledDeviation{}
	spread := 1 / math.Sqrt(2*df)
	low, high := math.Max(0, 1-8*spread), 1+10*spread
	sum := 0.0
	for i := range nodes + 1 {
		s := low + (high-low)*float64(i)/float64(nodes)
		if s == 0 && df > 1 {
			continue // the density is 0
		}
		logDensity := df * (0.5 - s*s/2) // scaled to be 1 at its top for large df
		if df > 1 {
			logDensity += (df - 1) * math.Log(s)
		}
		w := simpson(i, nodes) * math.Exp(logDensity)
		p.s, p.weight = append(p.s, s), append(p.weight, w)
		sum += w
	}
	for i := range p.weight {
		p.weight[i] /= sum
	}
	return p
}

// tails returns P(|T| > t) for the noncentral t distribution T = (Z + shift)/S: the mean over S of the
// normal tails beyond t·S.
func (p *pooledDeviation) tails(t, shift float64) float64 {
	sum := 0.0
	for i, s := range p.s {
		sum += p.weight[i] * (math.Erfc((t*s-shift)/math.Sqrt2) + math.Erfc((t*s+shift)/math.Sqrt2)) / 2
	}
	return sum
}

// simpson returns the weight of node i of Simpson's rule with an even number of intervals.
func simpson(i, intervals int) float64 {
	switch {
	case i == 0 || i == intervals:
		return 1
	case i%2 == 1:
		return 4
	}
	return 2
}

// fewestRuns returns the smallest number of runs a side, at least MinRuns, that does not miss, which more runs do
// not either; MaxRunsASide + 1 if MaxRunsASide miss.
func fewestRuns(misses func(n int) bool) int {
	low, high := MinRuns, MinRuns
	for misses(high) {
		if high == MaxRunsASide {
			return MaxRunsASide + 1
		}
		low, high = high+1, min(2*high, MaxRunsASide)
	}
	for low < high {
		if middle := (low + high) / 2; misses(middle) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return high
}

// chiSquareQuantile returns the x with P(X ≤ x) = p, 0 < p < 1, for a chi-square
// distribution with df degrees of freedom, by bisection.
func chiSquareQuantile(p, df float64) float64 {
	low, high := 0.0, df
	for chiSquareLower(high, df) < p {
		low, high = high, 2*high
	}
	for high-low > 1e-12*high {
		if middle := (low + high) / 2; chiSquareLower(middle, df) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// chiSquareLower returns P(X ≤ x) of a chi-square distribution: the series 6.5.29 of
// Abramowitz and Stegun for the incomplete gamma function.
func chiSquareLower(x, df float64) float64 {
	if x <= 0 {
		return 0
	}
	a, y := df/2, x/2
	term, sum := 1/a, 1/a
	for k := 1.0; term > 1e-16*sum; k++ {
		term *= y / (a + k)
		sum += term
	}
	gamma, _ := math.Lgamma(a)
	return math.Min(1, sum*math.Exp(a*math.Log(y)-y-gamma))
}

// A runDeviation is the standard deviation of the logarithms of a metric from run to run, estimated from DF + 1 runs.
type runDeviation struct{ Value, DF float64 }

// A planner computes how many runs a side a comparison needs. The zero value is ready; a planner keeps what several
// metrics share.
//
// A deviation from few runs may be far from the true one. So the probabilities are averages over the true
// deviations that the estimate allows for: the true one is Value·√(DF/χ²), where χ² has DF degrees of
// freedom. A plan from three runs then needs more runs than a plan from ten runs with the same deviation, and both
// find the change as often as they say.
type planner struct {
	designs map[plannedDesign]*welchDesign
	spreads map[float64]*pooledDeviation
}

type plannedDesign struct {
	runs  int
	alpha float64
	exact bool
}

// design returns Welch's test at the level alpha for n runs a side. An average over deviations needs no exact one.
func (p *planner) design(n int, alpha float64, exact bool) *welchDesign {
	key := plannedDesign{n, alpha, exact}
	if p.designs == nil {
		p.designs = map[plannedDesign]*welchDesign{}
	}
	if p.designs[key] == nil {
		nodes, pooled := 12, 32
		if exact {
			nodes, pooled = 32, 160
		}
		p.designs[key] = welchDesignOf(n, alpha, nodes, pooled)
	}
	return p.designs[key]
}

// smallest returns the smallest effect for n runs a side, in standard deviations.
func (p *planner) smallest(n int) float64 { return p.design(n, alpha, true).smallest() }

// needed returns the smallest number of runs a side, at least MinRuns, that finds an effect
// given in standard deviations; MaxRunsASide + 1 if MaxRunsASide are too few.
func (p *planner) needed(effect float64) int {
	// misses computes one power; a search for the smallest effect would compute many.
	return fewestRuns(func(n int) bool { return p.design(n, alpha, true).power(effect) < power })
}

// average returns the average of a probability, which depends on a number of true deviations, where effect is
// this number in estimated deviations.
func (p *planner) average(effect, df float64, probability func(effect float64) float64) float64 {
	const nodes = 24
	if p.spreads == nil {
		p.spreads = map[float64]*pooledDeviation{}
	}
	if p.spreads[df] == nil {
		p.spreads[df] = newPooledDeviation(df, nodes)
	}
	sum := 0.0
	for i, s := range p.spreads[df].s {
		sum += p.spreads[df].weight[i] * probability(effect*s)
	}
	return sum
}

// toFind returns the smallest number of runs a side, at least MinRuns, with which Welch's test at the level alpha
// finds a change, 0.05 for +5 %, with the probability power; MaxRunsASide + 1 if MaxRunsASide are too few.
func (p *planner) toFind(d runDeviation, change, alpha, power float64) int {
	effect := math.Log1p(change) / d.Value
	return fewestRuns(func(n int) bool { return p.average(effect, d.DF, p.design(n, alpha, false).power) < power })
}

// toExclude returns the smallest number of runs a side, at least MinRuns, that show with the probability power
// that no metric changes by change or more, if none changes; MaxRunsASide + 1 if MaxRunsASide are too few. Each
// metric must pass two one-sided tests at 5 %. all holds the deviations of the metrics.
//
// Each metric alone must pass with the probability power. All together must pass with this probability if they are
// independent and their deviations are the true ones: of several estimates, some are too large, which
// makes up for the others.
func (p *planner) toExclude(all []runDeviation, change, power float64) int {
	return fewestRuns(func(n int) bool {
		within := p.design(n, 2*alpha, false).within
		product := 1.0
		for _, d := range all {
			product *= within(math.Log1p(change) / d.Value)
		}
		return product < power || slices.ContainsFunc(all, func(d runDeviation) bool {
			return p.average(math.Log1p(change)/d.Value, d.DF, within) < power
		})
	})
}
