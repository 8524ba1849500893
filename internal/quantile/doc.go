// Package quantile computes the quantiles, means and deviations that reports show,
// with the same digits on every platform.
//
//	slices.Sort(x)
//	p99 := quantile.At(x, 0.99)
//	var s quantile.Sum
//	for _, v := range x {
//		s.Add(v)
//	}
//	mean := s.Value() / float64(len(x))
//
// Quantiles are of type 7 of Hyndman and Fan, the default of numpy and R.
//
// On arm64 and others a Go compiler may make one instruction of a product and a
// sum, which rounds once instead of twice and changes the last digit. It may not
// where the product is converted to float64, as the language says; so all products
// here are.
//
// Package numpy is for reports that must have numpy's own digits, which come out of
// another order of the same operations.
package quantile
