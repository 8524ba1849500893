package main

import (
	"math"
	"math/rand/v2"
)

// A process makes runs: series of latencies in the order of the requests, and
// the completions that a throughput is taken from.
type process struct {
	name     string
	generate func(rng *rand.Rand, n int) run
	truth    truth
}

// A run is what one side of a comparison has. The unit of time does not
// matter.
type run struct {
	latencies []float64
	tokens    []float64 // of each completion
	durations []float64 // since the completion before
}

// A truth is what an endless run would give.
type truth struct {
	mean     float64
	quantile map[float64]float64
	rate     float64 // tokens per time
}

const (
	logSD   = 0.5 // of latencies, service times and token counts
	rho     = 0.8 // of the autoregression, from one request to the next
	load    = 0.8 // of the queue
	normal  = 1.959963984540054
	z90     = 1.2815515655446004
	z99     = 2.3263478740408408
	meanLog = logSD * logSD / 2 // ln of the mean of exp(logSD·z)
)

// processes returns the processes with a promised coverage.
func processes() []process {
	logNormal := truth{
		mean:     math.Exp(meanLog),
		quantile: map[float64]float64{0.5: 1, 0.9: math.Exp(logSD * z90), 0.99: math.Exp(logSD * z99)},
		rate:     1, // tokens and durations have the same mean
	}
	for _, p := range sharesAt {
		logNormal.quantile[p] = math.Exp(logSD * math.Sqrt2 * math.Erfinv(2*p-1))
	}
	return []process{
		{"i.i.d. lognormal", independent, logNormal},
		{"AR(1), ρ = 0.8", autoregressive, logNormal},
		{"queue, 80 % load", queue, queueTruth()},
	}
}

// independent: lognormal latencies with log-sd 0.5, independent of each other.
func independent(rng *rand.Rand, n int) run {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(logSD * rng.NormFloat64())
	}
	return run{x, tokens(rng, n), x}
}

// autoregressive: lognormal latencies with log-sd 0.5 whose logarithms are a
// Gaussian AR(1) process with ρ = 0.8 (autocorrelation time 9).
func autoregressive(rng *rand.Rand, n int) run {
	x := make([]float64, n)
	logAR(rng, x, logSD)
	return run{x, tokens(rng, n), x}
}

// logAR fills x with exp of a stationary Gaussian AR(1) process.
func logAR(rng *rand.Rand, x []float64, sd float64) {
	z := rng.NormFloat64()
	innovation := math.Sqrt(1 - rho*rho)
	for i := range x {
		x[i] = math.Exp(sd * z)
		z = rho*z + innovation*rng.NormFloat64()
	}
}

// queue: the waiting and service times together of an M/G/1 queue, first come
// first served, in order: Poisson arrivals, lognormal service times with mean
// 1 and log-sd 0.5, load 0.8. It starts in its steady state. The completions
// are its departures.
func queue(rng *rand.Rand, n int) run {
	// The first request only tells when the second one departs.
	x, gaps := make([]float64, n+1), make([]float64, n+1)
	wait := stationaryWait(rng)
	arrival, departed := 0.0, 0.0
	for i := range x {
		x[i] = wait + math.Exp(logSD*rng.NormFloat64()-meanLog)
		departure := arrival + x[i]
		gaps[i] = departure - departed
		departed = departure
		next := rng.ExpFloat64() / load
		arrival += next
		wait = math.Max(0, x[i]-next)
	}
	return run{x[1:], tokens(rng, n), gaps[1:]}
}

// stationaryWait draws a waiting time of the steady state: the sum of a
// geometric number of residual service times (Pollaczek and Khinchine). A
// residual is a uniform part of a size-biased service time, which for a
// lognormal one is again lognormal, its mean log higher by the variance.
func stationaryWait(rng *rand.Rand) float64 {
	wait := 0.0
	for rng.Float64() < load {
		wait += rng.Float64() * math.Exp(logSD*rng.NormFloat64()+meanLog)
	}
	return wait
}

// tokens draws the answers' lengths.
func tokens(rng *rand.Rand, n int) []float64 {
	t := make([]float64, n)
	for i := range t {
		t[i] = math.Exp(logSD * rng.NormFloat64())
	}
	return t
}
