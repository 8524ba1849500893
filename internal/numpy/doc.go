// Package numpy computes sums, means, deviations and percentiles to the last digit like
// the Python library. Reports of Python programs are reproduced with it.
//
//	x := []float64{…}
//	mean := numpy.Mean(numpy.Current, x)
//	slices.Sort(x)
//	p99 := numpy.Percentile(x, 99)
//
// Floating-point addition is not associative, so the order of the additions is
// part of the result: see [Sum]. Every product is rounded before it is added;
// where the processor could do both in one step, the conversion to float64
// that Go's specification provides for this keeps it from doing so.
package numpy
