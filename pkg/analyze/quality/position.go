package quality

import "github.com/pa-tools/pa/internal/stat"

// Positions sums up gaps by their position in the answer, in ranges that double: the first gap, the
// second and third, the fourth to the seventh, ….
type Positions struct {
	n    [maxRanges]int64
	sums [maxRanges]stat.IntSum
}

// A Position is the mean of the gaps at the positions From to To.
type Position struct {
	From, To int64 // the first gap, between the first and the second token event, is at 1
	N        int64
	MeanNS   float64
}

// Add adds the gaps of an answer.
func (p *Positions) Add(a *Answer) {
	left := len(a.gaps)
	for k := 0; left > 0; k++ {
		n := min(left, 1<<k)
		p.n[k] += int64(n)
		p.sums[k].Add(a.sums[k])
		left -= n
	}
}

// Means returns the ranges that have gaps.
func (p *Positions) Means() []Position {
	var all []Position
	for k, n := range p.n {
		if n > 0 {
			all = append(all, Position{1 << k, 1<<(k+1) - 1, n, p.sums[k].Div(int(n))})
		}
	}
	return all
}
