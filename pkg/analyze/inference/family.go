package inference

import (
	"cmp"
	"math"
	"slices"
)

// A Test is one of several tests that are judged together, see [Adjust].
type Test struct {
	// P is the p-value; NaN for a test that was not made, which does not count.
	P float64

	// Least is the smallest p-value that the test could have had with its data, however it
	// was divided into sides; 0 if that is not known. See [RankTest]. The values of a test
	// with Least are not used.
	Least float64

	// Older and Newer are the per-run values that [Runs] or [Welch] compared; nil if the test
	// is another one. Tests with values must have them of the same runs in the same order,
	// so that their correlation can be estimated. It is not used if the sides are [Unbalanced],
	// because it then comes from the few runs of one side.
	Older, Newer []float64
}

// Adjust returns the adjusted p-values of a family of tests. Judging each of them at alpha, the
// probability of any false finding in the whole family is at most alpha. It also returns the
// confidence level of the interval on which the verdict of each test rests: the interval at
// this level leaves out 0 exactly if the adjusted p-value is at most alpha. A NaN stays NaN and
// has no level. The tests are taken in the order of their p-values, as in Holm's method
// (Scandinavian Journal of Statistics 6, 1979). The k-th smallest p-value p is adjusted to
// an upper bound of the probability that any of the k-th and following tests, without a true
// difference, has a p-value of at most p; but at least to the adjusted p-value of the previous
// test and at most to 1. The bound is a sum over the tests:
//
//   - A test that cannot have so small a p-value adds 0 (Tarone, Biometrics 46, 1990).
//   - A test whose values are correlated with the values of a following test adds the
//     probability that it has so small a p-value and the following one has not (Hunter,
//     Journal of Applied Probability 13, 1976; Worsley, Biometrika 69, 1982).
//   - Any other test adds p.
//
// Without Least and values the bound is (m − k + 1)·p, which is Holm's method. The bound holds
// for any dependence if nothing is known about it, and for jointly normal values where they
// are used. Their correlation is estimated, see [correlation].
//
// If no test has Least or values, as for single runs, the adjusted p-values are Hommel's, which are
// never larger than Holm's: see [hommel].
func Adjust(tests []Test, alpha float64) (adjusted, levels []float64) {
	adjusted, levels = adjust(tests, alpha)
	for i := range tests {
		if t := &tests[i]; leastOf(t) > 0 || t.Older != nil || t.Newer != nil {
			return adjusted, levels
		}
	}
	closed := hommel(adjusted, tests)
	for i, p := range closed {
		if p <= alpha && adjusted[i] > alpha {
			levels[i] = 1 - alpha*tests[i].P/p // between the p-value and alpha
		}
	}
	return closed, levels
}

// hommel returns the adjusted p-values of Hommel's method (Biometrika 75, 1988), but at most the
// given ones: two metrics that move together, such as TTFT and E2EL, confirm each other. Any set of k tests
// without a true difference is tested by Simes: the i-th smallest of their p-values is at most
// i·alpha/k. A test finds a difference if all sets with it do. The level of the family holds for
// independent tests and for tests that depend on each other positively, apart from the direction of the
// difference (Sarkar, Annals of Statistics 26, 1998). The computation is Wright's (Biometrics 48, 1992).
func hommel(most []float64, tests []Test) []float64 {
	var order []int
	for i := range tests {
		if !math.IsNaN(tests[i].P) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tests[a].P, tests[b].P) })
	n := len(order)
	p := func(k int) float64 { return tests[order[k]].P }
	adjusted := slices.Clone(most)
	closed := make([]float64, n)
	for k := range closed {
		closed[k] = p(k)
	}
	for m := n; m > 1; m-- { // size of a set
		simes := math.Inf(1) // of the set of the m largest p-values
		for i := range m {
			simes = math.Min(simes, float64(m)*p(n-m+i)/float64(i+1))
		}
		for k := range closed {
			// The worst set with a smaller p-value has it and the m − 1 largest.
			worst := simes
			if k < n-m {
				worst = float64(m) * p(k)
				for i := 1; i < m; i++ {
					worst = math.Min(worst, float64(m)*p(n-m+i)/float64(i+1))
				}
			}
			closed[k] = math.Max(closed[k], worst)
		}
	}
	for k, i := range order {
		adjusted[i] = math.Min(most[i], closed[k])
	}
	return adjusted
}

// adjust is [Adjust] without Hommel's method.
func adjust(tests []Test, alpha float64) (adjusted, levels []float64) {
	order := make([]int, 0, len(tests))
	adjusted, levels = make([]float64, len(tests)), make([]float64, len(tests))
	for i := range tests {
		adjusted[i], levels[i] = tests[i].P, math.NaN()
		if !math.IsNaN(tests[i].P) {
			order = append(order, i)
		}
	}
	// The bound depends on the order of equal p-values: their data decide, so that the order
	// of the tests does not matter.
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &tests[a], &tests[b]
		return cmp.Or(cmp.Compare(x.P, y.P), cmp.Compare(x.Least, y.Least), slices.Compare(x.Older, y.Older), slices.Compare(x.Newer, y.Newer))
	})
	terms := boundOf(tests, order)
	found := true
	least, step := 0.0, 0.0
	for k, i := range order {
		least = math.Max(least, math.Min(1, terms[k:].at(tests[i].P)))
		adjusted[i] = least
		if found {
			step = terms[k:].critical(alpha)
			found = least <= alpha
		}
		levels[i] = 1 - step
	}
	return adjusted, levels
}

// A bound is an upper bound of the probability that any test of a family has a p-value of at
// most p, as a sum of one term for each test.
type bound []boundTerm

// A boundTerm is what a test adds to a bound.
type boundTerm struct {
	least float64 // smallest p-value that the test can have
	// slope is tan of half the angle whose cosine is the correlation with the nearest
	// following test; 1 if there is none.
	slope float64
}

// boundOf returns the bound of the tests in the given order. The bound of the k-th and following
// tests is its part from k on.
func boundOf(tests []Test, order []int) bound {
	terms := make(bound, len(order))
	var following []*runValues
	for k, i := range slices.Backward(order) {
		least := leastOf(&tests[i])
		terms[k] = boundTerm{math.Min(least, tests[i].P), 1}
		v := valuesOf(&tests[i])
		if v == nil || least > 0 { // a test that adds 0 takes nothing off another test
			continue
		}
		nearest := 0.0
		for _, f := range following {
			nearest = math.Max(nearest, correlation(v, f))
		}
		terms[k].slope = math.Sqrt((1 - nearest) / (1 + nearest))
		following = append(following, v)
	}
	return terms
}

// leastOf returns the smallest p-value that a test can have: Least, or the p-value of a permutation
// test if the values of each side are all equal. Constants that are the same on both sides have no
// smaller one than 1.
func leastOf(t *Test) float64 {
	if len(t.Older) == 0 || len(t.Newer) == 0 || !allEqual(t.Older) || !allEqual(t.Newer) {
		return t.Least
	}
	return math.Max(t.Least, separation(t.Older, t.Newer))
}

// at returns the bound for p. It rises with p.
func (b bound) at(p float64) float64 {
	const tiny = 1e-12 // below it, 1 − p has too few digits for the quantile
	plain, sum := 0, 0.0
	h := math.NaN()
	for _, t := range b {
		switch {
		case t.least > p:
		case t.slope == 1 || p < tiny:
			plain++
		default:
			if math.IsNaN(h) {
				h = math.Sqrt2 * math.Erfinv(1-p)
			}
			// P(|Z| > h, and not |Z'| > h with the same sign) for two standard normal
			// values with this correlation.
			sum += math.Min(p, 4*owenT(h, t.slope))
		}
	}
	return float64(plain)*p + sum
}

// critical returns the largest p, up to alpha, whose bound is at most alpha.
func (b bound) critical(alpha float64) float64 {
	lo, hi := alpha/float64(len(b)), alpha
	switch {
	case !slices.ContainsFunc(b, func(t boundTerm) bool { return t.least > 0 || t.slope < 1 }):
		return lo
	case b.at(hi) <= alpha:
		return hi
	}
	for hi-lo > 1e-12*hi {
		mid := lo + (hi-lo)/2
		if b.at(mid) <= alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// owenT returns Owen's T function (Annals of Mathematical Statistics 27, 1956) for h ≥ 0 and
// 0 ≤ a ≤ 1:
//
//	T(h, a) = 1/(2π) · ∫ exp(−h²(1 + x²)/2)/(1 + x²) dx, x from 0 to a,
//
// by Simpson's rule. P(X > h, Y > h) of two standard normal values with correlation r is
// P(X > h) − 2·T(h, √((1 − r)/(1 + r))).
func owenT(h, a float64) float64 {
	const (
		intervals = 64
		farOut    = 9 // deviations, beyond which the integrand is 0
	)
	to := math.Min(a, farOut/h)
	f := func(x float64) float64 { return math.Exp(-h*h*(1+x*x)/2) / (1 + x*x) }
	sum := f(0) + f(to)
	for i := 1; i < intervals; i += 2 {
		sum += 4 * f(to*float64(i)/intervals)
	}
	for i := 2; i < intervals; i += 2 {
		sum += 2 * f(to*float64(i)/intervals)
	}
	return sum * to / intervals / 3 / (2 * math.Pi)
}

// runValues are the logarithms of per-run values, as deviations from the average of their side.
type runValues struct {
	deviations [2][]float64 // by side
	variance   float64      // of the difference of the averages
	df         float64      // its degrees of freedom by Welch and Satterthwaite
}

// valuesOf returns the values of a test; nil if it has none.
func valuesOf(t *Test) *runValues {
	if t.Older == nil || t.Newer == nil || Unbalanced(len(t.Older), len(t.Newer)) {
		return nil
	}
	c := Welch(t.Older, t.Newer)
	if c.NA.Missing() {
		return nil
	}
	v := &runValues{df: c.pivot.df}
	for side, values := range [...][]float64{t.Older, t.Newer} {
		center := math.Log(MeanOfRuns(values))
		for _, x := range values {
			v.deviations[side] = append(v.deviations[side], math.Log(x)-center)
		}
	}
	v.variance = covariance(v, v)
	return v
}

// covariance returns the covariance of the differences between the averages of the sides.
func covariance(a, b *runValues) float64 {
	sum := 0.0
	for side := range a.deviations {
		products, n := 0.0, float64(len(a.deviations[side]))
		for i, d := range a.deviations[side] {
			products += d * b.deviations[side][i]
		}
		sum += products / (n - 1) / n
	}
	return sum
}

// correlation returns the size of the correlation between the differences of two tests, less one
// standard error on Fisher's scale, 1/√(df − 2): if two tests seem to depend on each other more
// than they do, the bound is too low. It is 0 if the correlation is smaller, or if the tests do
// not have the same numbers of values.
func correlation(a, b *runValues) float64 {
	df := math.Min(a.df, b.df)
	for side := range a.deviations {
		if len(a.deviations[side]) != len(b.deviations[side]) {
			return 0
		}
	}
	const most = 1 - 1e-12 // the inverse of tanh is infinite at 1
	r := math.Min(most, math.Abs(covariance(a, b))/math.Sqrt(a.variance*b.variance))
	if !(df > 2) || math.IsNaN(r) {
		return 0
	}
	return math.Max(0, math.Tanh(math.Atanh(r)-1/math.Sqrt(df-2)))
}
