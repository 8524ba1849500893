package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Arrivals of a Poisson process have gaps with an exponential distribution. The test is the
// Kolmogorov-Smirnov test with the mean of the gaps in place of the true mean (Lilliefors 1969). The
// distance is modified for the number of gaps, so that one limit holds for all:
//
//	(D − 0.2/n) · (√n + 0.26 + 0.5/√n)
//
// Source: Stephens, EDF statistics for goodness of fit and some comparisons, JASA 69 (1974), case of
// the exponential distribution with unknown mean.
const (
	poissonLimit    = 1.308 // at 1 % false alarms
	leastGaps       = 10
	poissonLimitPct = 1
)

// A poissonTest holds arrivals against a Poisson process, as Lancet does (Kogias, Mallon and
// Bugnion, "Lancet: A self-correcting Latency Measurement Tool", USENIX ATC 2019): its gaps are
// exponential, independent, and of one rate throughout.
type poissonTest struct {
	distance float64 // of the gaps from an exponential distribution: see exponentialDistance
	// lag is the correlation of each gap with the next one. It has a standard error of 1/√n.
	lag, lagLimit float64
	// halves is the mean gap of the second half divided by the mean gap of the first. The
	// logarithm of a mean of k exponential gaps has the variance 1/k + 1/(2k²), nearly.
	halves, halvesLimit float64
}

const (
	// normalLimit is exceeded by 1 of 300 normal values, of either sign.
	normalLimit = 2.935
	// leastTested is the number of gaps from which poissonOf tests.
	leastTested = 30
	// coarsest is the largest resolution of times, as a part of the mean gap, that is tested.
	coarsest = 0.5
	// coarsestUnit is the coarsest power of ten, in ns, that files round times to: a second.
	coarsestUnit = 1e9
)

// poissonOf tests arrivals; why says why it cannot. It sorts arrivals, and changes rounded ones as undoRounding
// does.
func poissonOf(arrivals []uint64) (p poissonTest, why string) {
	n := len(arrivals) - 1
	if n < leastTested {
		return p, fmt.Sprintf("at least %d gaps between sent requests are needed", leastTested)
	}
	if why := undoRounding(arrivals); why != "" {
		return p, why
	}
	distance, ok := exponentialDistance(arrivals)
	if !ok {
		return p, "all requests were sent at one time"
	}
	p.distance = distance
	mean := float64(arrivals[n]-arrivals[0]) / float64(n)
	var with, self float64
	for i := range n {
		d := float64(arrivals[i+1]-arrivals[i]) - mean
		self += d * d
		if i+1 < n {
			with += d * (float64(arrivals[i+2]-arrivals[i+1]) - mean)
		}
	}
	if self > 0 {
		p.lag = with / self
	}
	p.lagLimit = normalLimit / math.Sqrt(float64(n))
	k := n / 2
	first, second := float64(arrivals[k]-arrivals[0])/float64(k), float64(arrivals[n]-arrivals[k])/float64(n-k)
	p.halves = second / first
	each := 1/float64(k) + 1/(2*float64(k*k))
	p.halvesLimit = math.Exp(normalLimit * math.Sqrt(2*each))
	return p, ""
}

// undoRounding spreads arrivals that a file rounded to a power of ten over the time that each rounded one
// stands for, evenly and at random. Given how many arrivals of a Poisson process fall into an interval, they
// lie in it evenly and independently, so that the process is one of Poisson again, and no test of it
// refuses more of them than without the rounding. Even gaps are a schedule, not rounding, and stay. The random
// numbers have a fixed seed. why says that the rounding is too coarse to tell a Poisson process from others. It
// sorts arrivals.
func undoRounding(arrivals []uint64) (why string) {
	if len(arrivals) < 2 {
		return ""
	}
	slices.Sort(arrivals)
	first, last := arrivals[0], arrivals[len(arrivals)-1]
	even := true
	for i, at := range arrivals {
		even = even && at-first == uint64(i)*(arrivals[1]-first)
	}
	if even {
		return ""
	}
	resolution := uint64(coarsestUnit)
	for _, at := range arrivals {
		for at%resolution != 0 {
			resolution /= 10
		}
	}
	if resolution == 1 {
		return ""
	}
	mean := float64(last-first) / float64(len(arrivals)-1)
	if float64(resolution) > coarsest*mean {
		return fmt.Sprintf("times are rounded to %s, which is too much for gaps of %s on average", milliseconds(float64(resolution)), milliseconds(mean))
	}
	random := rand.New(rand.NewPCG(resolution, uint64(len(arrivals))))
	for i := range arrivals {
		arrivals[i] += random.Uint64N(resolution)
	}
	return ""
}

// failures names the properties of a Poisson process that the arrivals lack.
func (p *poissonTest) failures() (all []string) {
	if p.distance > poissonLimit {
		all = append(all, "the gaps are not exponential")
	}
	if math.Abs(p.lag) > p.lagLimit {
		all = append(all, "the gaps depend on each other")
	}
	if !(p.halves <= p.halvesLimit && p.halves >= 1/p.halvesLimit) {
		all = append(all, "the rate changes")
	}
	return all
}

// exponentialDistance returns the modified distance between the gaps of arrivals and an
// exponential distribution with their mean. ok is false for fewer than leastGaps gaps, and if all
// arrivals are at one time. It sorts arrivals.
func exponentialDistance(arrivals []uint64) (distance float64, ok bool) {
	n := len(arrivals) - 1
	if n < leastGaps {
		return 0, false
	}
	slices.Sort(arrivals)
	mean := float64(arrivals[n]-arrivals[0]) / float64(n)
	if mean == 0 {
		return 0, false
	}
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = float64(arrivals[i+1] - arrivals[i])
	}
	slices.Sort(gaps)
	d := 0.0
	for i, g := range gaps {
		f := -math.Expm1(-g / mean)
		d = max(d, float64(i+1)/float64(n)-f, f-float64(i)/float64(n))
	}
	root := math.Sqrt(float64(n))
	return (d - 0.2/float64(n)) * (root + 0.26 + 0.5/root), true
}
