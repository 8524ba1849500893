// Package values keeps the values of metrics in the order in which they were added, and
// computes numpy's statistics of them.
//
//	store := values.NewStore(100<<20, "")
//	defer store.Close()
//	latency := store.NewList(values.Whole)
//	latency.Add(3, 1, 2)
//	latency.Mean(numpy.Current)
//	latency.Percentiles(50, 99)
//
// A [List] packs its values into blocks of 1024: the least value of the block, and the
// distance of each value from it in as few bytes as the largest distance takes. Times of a
// run take 3 to 5 bytes a value. The Lists of a [Store] share its bytes. When these are
// spent, further blocks go to a temporary file.
//
// Statistics are computed from one block after the other, so that a List never is in memory
// as a whole. Sums are numpy's to the last digit: see package numpy. Percentiles are exact:
// they are found by counting the values in ever smaller intervals, without sorting.
//
// A Store may be used by several goroutines, a List by one.
package values
