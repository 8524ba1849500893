package quality

import (
	"math/bits"

	"github.com/pa-tools/pa/internal/quantile"
)

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
	for i, g := range gaps {
		k := bits.Len(uint(i + 1)) // 1 for position 1, 2 for 2 and 3
		p.n[k]++
		p.sums[k].Add(g)
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
