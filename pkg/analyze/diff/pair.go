package diff

import (
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A pairing holds the paired requests of two runs that sent the same prompts in the
// same order. The zero value has no pairs.
type pairing struct {
	n          int
	ttft, e2el *inference.Pairs // nil without pairs
}

// of returns the pairs of a quantity; nil without pairs.
func (p *pairing) of(q quantity) *inference.Pairs {
	switch q {
	case ttft:
		return p.ttft
	case e2el:
		return p.e2el
	}
	return nil
}

// A prompt is the part of a request that pairing needs.
type prompt struct {
	place      int    // in the order of issue of the level
	input      uint64 // hash of the request's inputs
	ttft, e2el float64
}

// pairs pairs two runs by the places of their prompts, which are in order. All prompts
// at the same place must be equal, and their number must be at least half of the
// prompts of either run: equal prompts at the start of a long run say little about
// the rest. Runs with a single prompt are not paired, because prompts then cause no
// difference.
func pairs(older, newer []prompt) pairing {
	var both [][2]*prompt
	varied := false
	for i, j := 0, 0; i < len(older) && j < len(newer); {
		o, n := &older[i], &newer[j]
		switch {
		case o.place < n.place:
			i++
			continue
		case o.place > n.place:
			j++
			continue
		case o.input != n.input:
			return pairing{}
		}
		both = append(both, [2]*prompt{o, n})
		varied = varied || o.input != both[0][0].input
		i, j = i+1, j+1
	}
	if !varied || 2*len(both) < max(len(older), len(newer)) {
		return pairing{}
	}
	var p pairing
	var t, e [2][]float64
	for _, b := range both {
		o, w := b[0], b[1]
		if o.e2el > 0 && w.e2el > 0 {
			p.n++
			e[0], e[1] = append(e[0], o.e2el), append(e[1], w.e2el)
		}
		if o.ttft > 0 && w.ttft > 0 {
			t[0], t[1] = append(t[0], o.ttft), append(t[1], w.ttft)
		}
	}
	if len(t[0]) > 0 {
		p.ttft = inference.NewPairs(t[0], t[1])
	}
	if len(e[0]) > 0 {
		p.e2el = inference.NewPairs(e[0], e[1])
	}
	return p
}
