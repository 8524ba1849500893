// Package orderstat finds the numbers at given places in ascending order without sorting or keeping all
// of them: a radix selection over numbers that can be passed several times.
//
//	var c orderstat.Counter
//	c.Add([]float64{3, 1, 2}, nil)
//	low, err := c.Pick([]int{0}, func(pass orderstat.Pass) error { // 1
//		pass([]float64{3, 1, 2}, nil)
//		return nil
//	})
//
// Add counts numbers in ranges whose width is at most 1/4096 of their numbers. Pick passes the numbers
// again, and collects and sorts the numbers of the ranges with a wanted place. If these are many, Pick first
// divides the ranges, as often as it takes. So memory does not grow with the numbers: the counts of
// numbers within a factor of two take 64 kB, and a Pick takes up to 20 MiB.
package orderstat
