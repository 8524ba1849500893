// Package orderstat finds order statistics: the numbers at given places in ascending order. It neither sorts
// nor keeps all numbers. The caller passes them once to Add, and again whenever Pick asks (radix selection).
//
//	var c orderstat.Counter
//	c.Add([]float64{3, 1, 2}, nil)
//	low, err := c.Pick([]int{0}, func(add orderstat.AddFunc) error { // 1
//		add([]float64{3, 1, 2}, nil)
//		return nil
//	})
//
// Add counts numbers in ranges. The width of a range is at most 1/8192 of its numbers, unless they are subnormal.
// Pick asks for the numbers again, and collects and sorts the numbers of the ranges that contain a wanted place.
// If these numbers are many, Pick first divides the ranges, with one more pass for each division. So memory does
// not grow with the number of numbers: the counts of numbers within a factor of two take 64 kB, and a Pick takes
// up to 20 MiB.
package orderstat
