package quality

import "github.com/pa-tools/pa/internal/quantile"

// Positions sums up gaps by their position in the answer, in ranges that double: the first gap, the
// second and third, the fourth to the seventh, ….
type Positions struct {
	n    [64]int64
	sums [64]quantile.IntSum
}

// A Position is the mean of the gaps at the positions From to To.
type Position struct {
	From, To int64 // the first gap, between the first and the second token event, is at 1
	N        int64
	MeanNS   float64
}

// Add adds the gaps of an answer.
func (p *Positions) Add(gaps []int64) {
	for k := 1; len(gaps) > 0; k++ {
		n := min(len(gaps), 1<<(k-1)) // range k has the positions from 2^(k−1) to 2^k−1
		p.n[k] += int64(n)
		p.sums[k].AddAll(gaps[:n])
		gaps = gaps[n:]
	}
}

// Means returns the ranges that have gaps.
func (p *Positions) Means() []Position {
	var all []Position
	for k := 1; k < len(p.n); k++ {
		if p.n[k] > 0 {
			all = append(all, Position{1 << (k - 1), 1<<k - 1, p.n[k], p.sums[k].Div(int(p.n[k]))})
		}
	}
	return all
}
