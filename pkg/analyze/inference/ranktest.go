package inference

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// A RankTest is the outcome of a Mann–Whitney test.
type RankTest struct {
	// U counts the pairs of an old and a new value in which the new one is
	// larger. A pair of equal values counts one half.
	U float64

	// P is the two-sided p-value, NaN if there is none.
	P float64

	// Least is the smallest P that these values could have, however they were divided
	// into the sides; it is above 0.05 if most values are equal. 0 if P is not Exact.
	Least float64

	// Exact tells whether P comes from all divisions of the values into two
	// sides (up to 50 values) and not from the normal distribution.
	Exact bool

	// NA says why there is no test.
	NA NA
}

// maxExact is how many values, both sides together, are divided in all ways:
// the numbers of divisions stay below 2^53, so that a float64 holds them.
const maxExact = 50

// rankRuns is MannWhitney from 6 runs a side: with fewer it could hardly ever
// find anything that survives a correction for several metrics.
func rankRuns(older, newer []float64) RankTest {
	if n := min(len(older), len(newer)); n < minRankRuns {
		return RankTest{P: math.NaN(), NA: NA{Reason: fmt.Sprintf("%d of %d runs on a side", n, minRankRuns), Needs: minRankRuns}}
	}
	return MannWhitney(older, newer)
}

// MannWhitney tests whether the values of one side tend to be larger than the other's
// (Annals of Mathematical Statistics 18, 1947). Equal values share the average of their
// ranks, and the exact distribution takes them into account. P is twice the smaller tail,
// at most 1. Above 50 values it is from the normal distribution, with the correction for
// ties and for continuity.
//
// Values that are not finite, an empty side, and values that are all equal
// give no test.
func MannWhitney(older, newer []float64) RankTest {
	test := RankTest{P: math.NaN()}
	if len(older) == 0 || len(newer) == 0 {
		test.NA = NA{Reason: "an empty side", Needs: 1}
		return test
	}
	all := slices.Concat(older, newer)
	for _, v := range all {
		if !stat.Finite(v) {
			test.NA = NA{Reason: fmt.Sprintf("a value is %v", v)}
			return test
		}
	}
	slices.Sort(all)
	ranks, ties := doubledRanks(all)
	sum := 0 // of the new side's doubled ranks
	for _, v := range newer {
		i, _ := slices.BinarySearch(all, v)
		sum += ranks[i]
	}
	n0, n1 := float64(len(older)), float64(len(newer))
	test.U = float64(sum)/2 - n1*(n1+1)/2
	if all[0] == all[len(all)-1] {
		test.NA = NA{Reason: "all values are the same"}
		return test
	}
	if len(all) <= maxExact {
		test.Exact = true
		test.P, test.Least = exactRankP(ranks, len(newer), sum)
		return test
	}
	n := n0 + n1
	variance := n0 * n1 / 12 * (n + 1 - ties/(n*(n-1)))
	z := math.Max(0, math.Abs(test.U-n0*n1/2)-0.5) / math.Sqrt(variance)
	test.P = math.Erfc(z / math.Sqrt2)
	return test
}

// doubledRanks returns twice the rank of each sorted value, which is whole
// also where values are equal, and Σ(t³ − t) over the groups of t equal ones.
func doubledRanks(sorted []float64) (ranks []int, ties float64) {
	ranks = make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// exactRankP returns twice the smaller tail of the sum of k ranks drawn from
// all without replacement, and the smallest value that this can have.
func exactRankP(ranks []int, k, sum int) (p, least float64) {
	most := 0
	for _, r := range ranks {
		most += r
	}
	// ways[j][s] is the number of choices of j ranks with sum s.
	ways := make([][]float64, k+1)
	for j := range ways {
		ways[j] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for j := k; j > 0; j-- {
			for s := most; s >= r; s-- {
				ways[j][s] += ways[j-1][s-r]
			}
		}
	}
	var below, above, total float64 // both with the sum itself
	for s, w := range ways[k] {
		total += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	smallest, largest := 0, 0
	for i := range k {
		smallest, largest = smallest+ranks[i], largest+ranks[len(ranks)-1-i]
	}
	p = math.Min(1, 2*math.Min(below, above)/total)
	return p, math.Min(1, 2*math.Min(ways[k][smallest], ways[k][largest])/total)
}
