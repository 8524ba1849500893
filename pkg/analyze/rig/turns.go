package rig

import (
	"math"
	"math/rand/v2"
)

const (
	// minTurns is the least number of runs for which the order is tested: 6 runs have 720
	// orders, 5 only 120, too few for several metrics.
	minTurns = 6
	// allOrders is the largest number of runs of which all orders are tried; of more runs,
	// orders random ones are.
	allOrders = 8
	orders    = 9999
)

// Turns compares runs that follow each other with all runs. If a rig changes slowly,
// neighbors differ less. Two sides recorded in turn then differ less by chance than two
// sides recorded one after the other.
type Turns struct {
	// Neighbors is the deviation that the differences of successive runs give: √(Σ(xᵢ₊₁−xᵢ)² /
	// 2(n−1)), of logarithms. NaN without a deviation.
	Neighbors float64
	// Ratio is the variance of Neighbors over the variance of all runs, half of von
	// Neumann's ratio. Its expectation is 1 if the order of the runs does not matter.
	Ratio float64
	// P is the share of all orders of the runs with as small a ratio; NaN for fewer than 6
	// runs.
	P float64
	// Adjusted is P adjusted by Holm's method over the primary metrics of all levels; NaN
	// for other metrics.
	Adjusted float64
}

// turnsOf compares the neighbors among at least 2 logarithms that are not all equal.
func turnsOf(logs []float64) Turns {
	n := len(logs)
	mean, sum := 0.0, 0.0
	for _, x := range logs {
		mean += x / float64(n)
	}
	for _, x := range logs {
		sum += (x - mean) * (x - mean)
	}
	steps := successive(logs)
	t := Turns{Neighbors: math.Sqrt(steps / 2 / float64(n-1)), Ratio: steps / 2 / sum, P: math.NaN(), Adjusted: math.NaN()}
	if n >= minTurns {
		t.P = orderP(logs)
	}
	return t
}

// successive returns Σ(xᵢ₊₁−xᵢ)².
func successive(x []float64) float64 {
	sum := 0.0
	for i := 1; i < len(x); i++ {
		sum += (x[i] - x[i-1]) * (x[i] - x[i-1])
	}
	return sum
}

// orderP returns the share of orders of x whose successive differences are as small as
// those of the given order: of all orders, or of that order and random ones.
func orderP(x []float64) float64 {
	limit := successive(x) * (1 + 1e-9) // the sums of one order and its reverse may differ by rounding
	order := append([]float64(nil), x...)
	small, all := 0, 0
	count := func() {
		all++
		if successive(order) <= limit {
			small++
		}
	}
	if len(x) <= allOrders {
		permute(order, len(order), count)
		return float64(small) / float64(all)
	}
	count()
	random := rand.New(rand.NewPCG(1, uint64(len(x))))
	for range orders {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		count()
	}
	return float64(small) / float64(all)
}

// permute calls f for each order of the first n values of x, and leaves x in one of them
// (Heap's algorithm).
func permute(x []float64, n int, f func()) {
	if n <= 1 {
		f()
		return
	}
	for i := range n {
		permute(x, n-1, f)
		if n%2 == 0 {
			x[i], x[n-1] = x[n-1], x[i]
		} else {
			x[0], x[n-1] = x[n-1], x[0]
		}
	}
}
