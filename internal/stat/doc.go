// Package stat computes the statistics that reports show: quantiles, order statistics, sums, means and
// deviations, with the same digits on every platform.
//
//	slices.Sort(x)
//	p99 := stat.Quantile(x, 0.99)
//
// Values that may not fit in memory belong to a [List]. The Lists of a [Store] share its bytes, and move to a
// temporary file beyond them:
//
//	store := stat.NewStore(100<<20, "")
//	defer store.Close()
//	latency := store.NewList(stat.Whole)
//	latency.Add(3, 1, 2)
//	at, err := latency.Pick([]int{0, 2}) // 1, 3
//
// A List packs its values into blocks: the least value of the block, and the distance of each value from it in
// as few bytes as the largest distance takes. Times of a run take 3 to 5 bytes a value. A List is never in memory
// as a whole: sums and deviations are computed from one block after the other, and Pick finds order statistics by
// counting the values in ranges and sorting only the ranges that contain a wanted place. A [Counter] does the
// same for numbers that its caller can repeat and does not store.
//
// Quantiles are of type 7 of Hyndman and Fan, the default of numpy and R. Functions with Numpy in their names return
// numpy's own digits: floating-point addition is not associative, so the order of the additions is part of the result
// (see [NumpySum]).
//
// On arm64 and some other platforms a Go compiler may fuse a product and a sum into
// one instruction, which rounds once instead of twice and changes the last digit.
// The language forbids that if the product is converted to float64, so this package
// converts every product.
package stat
