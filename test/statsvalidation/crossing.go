package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Three levels of load at which these shares of the requests meet an objective
// that 90 % should meet: the straight line from the second to the third crosses
// that at trueCrossing.
var sharesAt = [...]float64{0.97, 0.93, 0.80}

const (
	shareTarget  = 0.9
	trueCrossing = 2 + (0.93-shareTarget)/(0.93-0.80)
)

// A crossingCell says how the intervals do for the share at the second level,
// and for the load at which the target is crossed.
type crossingCell struct {
	process         string
	n               int // requests a level
	share, crossing interval
	naiveShare      share
	width           []float64 // of the crossing, in steps between the levels
}

func (c *crossingCell) keeps() bool { return c.share.keeps(0.5, false) && c.crossing.keeps(0.5, false) }

// crossings fills the cell of one process and length. The levels are independent runs of
// the process. A latency meets the objective if it is below the quantile of the level's
// share.
func crossings(s *simulation, p process, n int) crossingCell {
	type one struct {
		share, crossing inference.Estimate
		fell            bool // from above the target to below, between the second and the third
		naive           bool
	}
	results := repeat(s, fmt.Sprintf("crossing %s %d", p.name, n), s.repetitions(n), func(rng *rand.Rand) (x one) {
		levels := make([]inference.Level, len(sharesAt))
		for i, share := range sharesAt {
			met := make([]bool, n)
			for j, latency := range p.generate(rng, n).latencies {
				met[j] = latency <= p.truth.quantile[share]
			}
			levels[i] = inference.Level{At: float64(i + 1), Share: inference.Share(met)}
		}
		x.share = levels[1].Share
		x.naive = naiveShare(x.share.Value, n).Contains(sharesAt[1])
		for i := range levels[1:] {
			if levels[i].Share.Value >= shareTarget && levels[i+1].Share.Value < shareTarget && !x.fell {
				x.crossing, x.fell = inference.Crossing(levels, shareTarget, i), true
			}
		}
		return x
	})
	c := crossingCell{process: p.name, n: n}
	for i := range results {
		x := &results[i]
		c.share.add(x.share.NA, x.share.Interval(level).Contains(sharesAt[1]))
		c.naiveShare.add(x.naive)
		na := x.crossing.NA
		if !x.fell {
			na = inference.NA{Reason: "the levels do not cross the target"}
		}
		ends := x.crossing.Interval(level)
		c.crossing.add(na, ends.Contains(trueCrossing))
		if !na.Missing() {
			c.width = append(c.width, ends.High-ends.Low)
		}
	}
	return c
}
