package load

import (
	"math/rand/v2"
	"slices"
)

// Order returns in which order the n levels of a sweep are measured in one of
// its repetitions, round (from 0): a permutation of 0 … n−1 that depends on
// nothing but the arguments.
//
// It is a design of Williams ("Experimental designs balanced for the estimation
// of residual effects of treatments", 1949), so that neither a machine that gets
// slower nor what a level leaves behind for the next one falls on some levels
// more than on others:
//
//   - each round with an odd number is the one before it backwards, so that after
//     an even number of rounds the mean place of all levels is the same;
//   - over n rounds, 2n for an odd n, each level stands at each place equally
//     often, and comes equally often right after each other one.
//
// Then the levels change parts. Which part each has is random, chosen by seed.
func Order(n, round int, seed uint64) []int {
	if n < 2 {
		return make([]int, n)
	}
	period := n
	if n%2 == 1 {
		period = 2 * n
	}
	parts := rand.New(rand.NewPCG(seed, uint64(round/period))).Perm(n)
	// 0, 1, n−1, 2, n−2, …: the differences of neighbours, modulo n, are all
	// different ones.
	order := make([]int, n)
	shift := round % period / 2
	for i := range order {
		k := (i + 1) / 2
		if i%2 == 0 {
			k = n - k
		}
		order[i] = parts[(k+shift)%n]
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
