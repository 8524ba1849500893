package diff

import (
	"github.com/pa-tools/pa/pkg/analyze/diff/inference"
)

// A pairing are the requests of two runs that sent the same prompts in the same
// order. Its zero value is none.
type pairing struct {
	n          int
	ttft, e2el *inference.Pairs // nil where there are none
}

// of returns the pairs of a quantity, nil where there are none.
func (p *pairing) of(q quantity) *inference.Pairs {
	switch q {
	case ttft:
		return p.ttft
	case e2el:
		return p.e2el
	}
	return nil
}

// pairs pairs two runs. All prompts must agree as far as the shorter run goes,
// which must be half of the longer one at least: an agreement at the start of
// a long run says little about the rest. Runs that send one and the same prompt
// all the time have nothing that pairing could take out.
func pairs(older, newer []prompt) pairing {
	n := min(len(older), len(newer))
	if n == 0 || 2*n < max(len(older), len(newer)) {
		return pairing{}
	}
	varied := false
	for i := range n {
		if older[i].input != newer[i].input {
			return pairing{}
		}
		varied = varied || older[i].input != older[0].input
	}
	if !varied {
		return pairing{}
	}
	var p pairing
	var t, e [2][]float64
	for i := range n {
		o, w := &older[i], &newer[i]
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
