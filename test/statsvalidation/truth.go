package main

import (
	"math"
	"sync"
)

// queueTruth returns the limits to which [queue] tends. It computes them once, because that takes longer than a
// short simulation.
var queueTruth = sync.OnceValue(func() truth {
	t := truth{
		// Pollaczek–Khinchine: E(W) = λ·E(S²) / (2·(1 − load)), E(S) = 1.
		mean:     1 + load*math.Exp(logSD*logSD)/(2*(1-load)),
		quantile: map[float64]float64{},
		rate:     load * math.Exp(meanLog),
	}
	below := sojourn(load, lognormalBelow, lognormalLess)
	for _, p := range append([]float64{0.5, 0.9, 0.99}, sharesAt[:]...) {
		lo, hi := 0.0, longest
		for hi-lo > 1e-9 {
			if mid := (lo + hi) / 2; below(mid) < p {
				lo = mid
			} else {
				hi = mid
			}
		}
		t.quantile[p] = hi
	}
	return t
})

const (
	longest = 40.0  // mean service times; P(sojourn > 40) < 1e-5 at load 0.8
	step    = 0.005 // of the lattice
)

// sojourn returns the distribution function, up to longest, of the waiting and
// service time together in an M/G/1 queue whose service times have mean 1:
// below(x) = P(S ≤ x), and less(x) = E(min(S, x)), which is P(residual ≤ x).
//
// The waiting time is a geometric sum of residual service times. If these are
// rounded to a lattice, its probabilities follow one from the other (Panjer's
// recursion):
//
//	w_0 = (1−ρ)/(1−ρr_0),  w_k = ρ/(1−ρr_0) · Σ_{j=1…k} r_j·w_{k−j}.
//
// The error falls with the square of the step; see the test, where it is below
// 1e-5 for exponential service times.
func sojourn(load float64, below, less func(float64) float64) func(float64) float64 {
	points := int(longest/step) + 1
	residual := make([]float64, points)
	wait := make([]float64, points)
	before := 0.0
	for k := range residual {
		upTo := less((float64(k) + 0.5) * step)
		residual[k], before = upTo-before, upTo
	}
	scale := 1 / (1 - load*residual[0])
	wait[0] = (1 - load) * scale
	for k := 1; k < points; k++ {
		sum := 0.0
		for j := 1; j <= k; j++ {
			sum += residual[j] * wait[k-j]
		}
		wait[k] = load * scale * sum
	}
	return func(t float64) float64 {
		sum := 0.0
		for k, w := range wait {
			if rest := t - float64(k)*step; rest > 0 {
				sum += w * below(rest)
			}
		}
		return sum
	}
}

func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// lognormalBelow is P(S ≤ x) for the service times of [queue].
func lognormalBelow(x float64) float64 { return normalBelow((math.Log(x) + meanLog) / logSD) }

// lognormalLess is E(min(S, x)) for them: E(S; S ≤ x) + x·P(S > x).
func lognormalLess(x float64) float64 {
	return normalBelow((math.Log(x)-meanLog)/logSD) + x*(1-lognormalBelow(x))
}
