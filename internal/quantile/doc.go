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
// On arm64 and some other platforms a Go compiler may fuse a product and a sum into
// one instruction, which rounds once instead of twice and changes the last digit.
// The language forbids that if the product is converted to float64, so this package
// converts every product.
//
// Package numpy is for reports that must have numpy's own digits; numpy does the
// same operations in another order.
package quantile
