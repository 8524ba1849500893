package inference

// StudentUpper returns P(T > t) for Student's t with df > 0 degrees of freedom, which
// need not be whole; +Inf is the normal distribution. It keeps its relative precision
// far out in the tail.
func StudentUpper(t, df float64) float64 { return studentUpper(t, df) }

// StudentQuantile returns the t with P(|T| ≤ t) = level, for 0 < level < 1 and df as in
// [StudentUpper].
func StudentQuantile(level, df float64) float64 { return studentQuantile(level, df) }

// GeometricMean estimates the geometric mean of per-run values of one side, as [Runs]
// does. Its interval is Student's t on logarithms, from 3 runs.
func GeometricMean(values []float64) Estimate {
	e, _ := geometricMean(values)
	return e
}
