package quality

import (
	"math/rand/v2"
	"testing"
)

// Answers of 100 tokens whose first token is long before its deadline.
func BenchmarkFluidInterval(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 0))
	var all []answer
	for range 1000 {
		a := answer{ttft: 50*ms + r.Int64N(150*ms)}
		mean := 8*ms + r.Int64N(12*ms)
		for range 99 {
			a.gaps = append(a.gaps, mean+r.Int64N(5*ms))
		}
		all = append(all, a)
	}
	for i := 0; b.Loop(); i++ {
		a := &all[i%len(all)]
		FluidInterval(a.ttft, a.gaps, 1000*ms, 0.9)
	}
}
