package rig

import (
	"math"
	"math/rand/v2"
)

const (
	// minTurns is the smallest number of runs whose order is tested. 6 runs have 720 orders;
	// 5 runs have 120, too few for several metrics.
	minTurns = 6
	// maxAllOrders is the largest number of runs for which all orders are tried. With more
	// runs, randomOrders random orders are tried.
	maxAllOrders = 8
	randomOrders = 9999
)

// Turns compares the differences between successive runs with the differences between all
// runs. If a rig changes slowly, successive runs differ less. Two sides that are recorded in
// turn then differ less by chance than two sides that are recorded one after the other.
type Turns struct {
	// Neighbors is the deviation estimated from the differences between successive runs, in
	// logarithms: √(Σ(xᵢ₊₁−xᵢ)² / 2(n−1)). NaN if Row.Deviation is.
	Neighbors float64
	// Ratio is the variance of Neighbors over the variance of all runs, half of von
	// Neumann's ratio. Its expectation is 1 if the order of the runs does not matter.
	Ratio float64
	// P is the share of all orders of the runs whose ratio is at most Ratio; NaN for fewer
	// than 6 runs.
	P float64
	// Adjusted is P adjusted by Holm's method over the primary metrics of all levels; NaN
	// for other metrics.
	Adjusted float64
}

// turnsOf compares successive values among at least 2 logarithms that are not all equal.
func turnsOf(logs []float64) Turns {
	n := len(logs)
	mean, sum := 0.0, 0.0
	for _, x := range logs {
		mean += x / float64(n)
	}
	for _, x := range logs {
		sum += (x - mean) * (x - mean)
	}
	squares := successive(logs)
	t := Turns{Neighbors: math.Sqrt(squares / 2 / float64(n-1)), Ratio: squares / 2 / sum, P: math.NaN(), Adjusted: math.NaN()}
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

// orderP returns the share of orders of x whose sum of squared successive differences is at
// most the sum for x as given. It tries all orders of up to maxAllOrders values, otherwise the
// given order and randomOrders random ones.
func orderP(x []float64) float64 {
	limit := successive(x) * (1 + 1e-9) // the sums of one order and its reverse may differ by rounding
	order := append([]float64(nil), x...)
	atMost, all := 0, 0
	count := func() {
		all++
		if successive(order) <= limit {
			atMost++
		}
	}
	if len(x) <= maxAllOrders {
		permute(order, len(order), count)
		return float64(atMost) / float64(all)
	}
	count()
	random := rand.New(rand.NewPCG(1, uint64(len(x))))
	for range randomOrders {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		count()
	}
	return float64(atMost) / float64(all)
}

// permute calls f for each order of the first n values of x (Heap's algorithm). It leaves x
// in another order.
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
