package load

import (
	"math/rand/v2"
	"slices"
)

// Order returns the order in which repetition round (from 0) of a sweep measures its n
// levels: a permutation of 0 … n−1 that depends only on the arguments.
//
// Order uses a design of Williams ("Experimental designs balanced for the estimation of
// residual effects of treatments", 1949). It spreads the effects of a machine that gets
// slower, and of each level on the next one, evenly over the levels:
//
//   - Each odd round is the reverse of the round before it, so that after an even number
//     of rounds all levels have the same mean place.
//   - Over n rounds (2n for an odd n), each level has each place equally often, and
//     follows every other level equally often.
//
// After these rounds the levels change their roles in the design. The seed draws the
// roles.
func Order(n, round int, seed uint64) []int {
	order := Turns(n, round)
	if n < 2 {
		return order
	}
	roles := rand.New(rand.NewPCG(seed, uint64(round/period(n)))).Perm(n)
	for i, k := range order {
		order[i] = roles[k]
	}
	return order
}

// Turns returns the order in which n servers take their turns in a round (from 0): the
// design of Order with the servers in their own roles. Two servers go 0 1, 1 0, 0 1, …
func Turns(n, round int) []int {
	if n < 2 {
		return make([]int, n)
	}
	// 0, 1, n−1, 2, n−2, …: all differences of neighbours, modulo n, are different.
	order := make([]int, n)
	shift := round % period(n) / 2
	for i := range order {
		k := (i + 1) / 2
		if i%2 == 0 {
			k = n - k
		}
		order[i] = (k + shift) % n
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// period returns the number of rounds after which the design for n levels begins again.
func period(n int) int {
	if n%2 == 1 {
		return 2 * n
	}
	return n
}
