package inference

import (
	"math"
	"math/big"
)

// A side fails more if its share of failed requests is larger by more than failPoint and
// the p-value of [MoreFailures] is at most failAlpha.
const (
	failAlpha    = 0.01
	pointsInFull = 100 // a percentage point is one of them
)

// MoreFailures returns the one-sided mid-p-value of Fisher's exact test that the new side fails
// more often than the old side: failed requests out of all requests, a side. If both sides fail
// equally often, the failures are spread over all requests at random, and the number of new
// failures is hypergeometric. The result is the probability of more new failures than counted, and
// half the probability of as many (Lancaster, Journal of the American Statistical Association 56,
// 1961). It is ½ if no request failed or a side has no requests, and NaN if the counts are
// impossible.
//
// Requests count as independent. A short outage makes many requests of one run fail together;
// the test then sees a difference between these runs, not between builds.
func MoreFailures(oldFailed, oldAll, newFailed, newAll int) float64 {
	if min(oldFailed, newFailed) < 0 || oldFailed > oldAll || newFailed > newAll {
		return math.NaN()
	}
	failed := oldFailed + newFailed
	// weight is the probability of x new failures, divided by the probability of newFailed.
	up, down := 0.0, 0.0
	for x, weight := newFailed, 1.0; x < min(failed, newAll); x++ {
		weight *= float64(failed-x) * float64(newAll-x) / float64(x+1) / float64(oldAll-failed+x+1)
		if weight < up*1e-17 {
			break
		}
		up += weight
	}
	for x, weight := newFailed, 1.0; x > max(0, failed-oldAll); x-- {
		weight *= float64(x) * float64(oldAll-failed+x) / float64(failed-x+1) / float64(newAll-x+1)
		if weight < down*1e-17 {
			break
		}
		down += weight
	}
	if math.IsInf(up, 1) {
		return 1
	}
	return (up + 0.5) / (down + 1 + up)
}

// FailsMore reports whether the new side fails more than the old side: [MoreFailures] is at most
// 1 %, and the share of failed requests is larger by more than one percentage point. It compares
// the shares by their counts, so that 1 % to 2 % is exactly one point.
func FailsMore(oldFailed, oldAll, newFailed, newAll int) bool {
	if !(MoreFailures(oldFailed, oldAll, newFailed, newAll) <= failAlpha) {
		return false
	}
	product := func(a, b int) *big.Int { return new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b))) }
	more := product(newFailed, oldAll)
	more.Sub(more, product(oldFailed, newAll))
	return more.Mul(more, big.NewInt(pointsInFull)).Cmp(product(oldAll, newAll)) > 0
}
