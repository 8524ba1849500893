package quality

import (
	"math/rand/v2"
	"testing"
)

// answers returns answers of 100 tokens whose first token is long before its deadline of 1 s.
func answers() (all []given) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 1000 {
		a := given{ttft: 50*ms + r.Int64N(150*ms)}
		mean := 8*ms + r.Int64N(12*ms)
		for range 99 {
			a.gaps = append(a.gaps, mean+r.Int64N(5*ms))
		}
		all = append(all, a)
	}
	return all
}

func BenchmarkFluidInterval(b *testing.B) {
	var all []*Answer
	for _, a := range answers() {
		all = append(all, newAnswer(a))
	}
	b.SetBytes(8 * 100)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		all[i%len(all)].fluidInterval(1000*ms, 0.9)
	}
}

// BenchmarkAnswer computes all figures of an answer except the fluid interval.
func BenchmarkAnswer(b *testing.B) {
	all := answers()
	stalls := Stalls{ThresholdNS: 200 * ms, Factor: 5}
	var a Answer
	var p Positions
	b.SetBytes(8 * 100)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if x := &all[i%len(all)]; !a.Set(x.ttft, x.gaps) {
			b.Fatal("out of range")
		}
		a.fluidity(deadline{1000 * ms, 50 * ms})
		a.timeliness(50 * ms)
		stalls.ofAnswer(&a)
		p.Add(&a)
	}
}
