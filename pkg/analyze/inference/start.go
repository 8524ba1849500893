package inference

import "math"

// A Start describes the first requests of a run if they took longer than the others: cold caches, new
// connections, or a queue of requests that all came at once.
type Start struct {
	// N is the number of these requests; 0 if the start is like the rest.
	N int
	// Factor is their geometric mean, divided by the geometric mean of the others.
	Factor float64
	// P is the p-value.
	P float64
}

const (
	// fewestBlocks is the smallest number of blocks with which the first block is compared.
	fewestBlocks = 10
	// startAlpha is the largest adjusted p-value at which the start differs.
	startAlpha = 0.005
	// startGap is the least distance of the first block from the greatest of the others, as a part of its
	// distance from their mean.
	startGap = 0.4
)

// Differs reports whether the first requests took longer than the others by so much that it matters.
func (s *Start) Differs() bool {
	const least = 1.2
	return s.N > 0 && s.Factor > least
}

// StartOf compares the first values of a run, in the order of time, with the others. The values must be
// positive; of others, and of few values, it finds nothing.
//
// It divides the values into blocks of k neighbours, for k = 1, 2, 4, … as long as there are at
// least 10 beside the first. The first k values differ if the mean of their logarithms is the greatest of all
// blocks, and if it lies beyond the others by the t test of a single value. Comparing blocks
// with blocks allows for neighbours that depend on each other. Being the greatest is improbable
// whatever the distribution is. The p-values are adjusted for the number of k (Bonferroni). N is
// the number of up to twice the k of the smallest p-value that divides the values best, by least squares.
//
// Chance alone makes the first values of independent or dependent requests differ in about 1 of 200 runs,
// of 30 to 60 requests with a heavy tail in up to 3 of 100.
func StartOf(values []float64) Start {
	sums := make([]float64, len(values)+1) // of the logarithms before each value
	for i, v := range values {
		if !usable(v) || v <= 0 {
			return Start{P: math.NaN()}
		}
		sums[i+1] = sums[i] + math.Log(v)
	}
	best := Start{P: 1}
	if allEqual(values) { // the sums differ by rounding
		return best
	}
	sizes := 0
	for k := 1; len(values)/k > fewestBlocks; k *= 2 {
		sizes++
		blocks := len(values) / k
		block := func(i int) float64 { return (sums[(i+1)*k] - sums[i*k]) / float64(k) }
		others, greatest := 0.0, math.Inf(-1)
		for i := 1; i < blocks; i++ {
			others += block(i) / float64(blocks-1)
			greatest = math.Max(greatest, block(i))
		}
		if !(block(0)-greatest > startGap*(block(0)-others)) || block(0) <= greatest {
			continue
		}
		squares := 0.0
		for i := 1; i < blocks; i++ {
			squares += square(block(i) - others)
		}
		df := float64(blocks - 2)
		p := 0.0 // if all others are equal
		if se := math.Sqrt(squares / df * (1 + 1/float64(blocks-1))); se > 0 {
			p = StudentUpper((block(0)-others)/se, df)
		}
		if p < best.P {
			best = Start{N: k, P: p}
		}
	}
	best.P = math.Min(1, best.P*float64(sizes))
	if !(best.P <= startAlpha) {
		return Start{P: best.P}
	}
	total, n := sums[len(values)], float64(len(values))
	most, longest := 0.0, min(2*best.N, len(values)/2)
	for i := 1; i <= longest; i++ {
		m := float64(i)
		difference := sums[i]/m - (total-sums[i])/(n-m)
		if explained := m * (n - m) * square(difference); explained > most {
			most, best.N, best.Factor = explained, i, math.Exp(difference)
		}
	}
	return best
}
