package view

import (
	"cmp"
	"math/bits"
	"slices"
)

// mostPrompts is the number of points of TTFT against prompts at most: two for each of mostPromptBins bins,
// and the rest is a sample.
const (
	mostPrompts    = 2000
	mostPromptBins = mostPrompts / 4
	promptSample   = mostPrompts - 2*mostPromptBins
)

// prompts collects points of TTFT against prompts. When it has more than mostPrompts, it keeps the minimum
// and the maximum of the TTFT for each bin of uncached tokens, and a sample. Bins begin with one number
// each; their width in relation to the tokens doubles until they are few enough.
type prompts struct {
	bins   map[promptBin]*promptEnds
	bits   int           // leading bits of a number that tell its bin
	sample []promptPoint // the points with the lowest keys
	limit  int64         // keys of points that are not sampled, and above; 0: none yet
	n      int
}

// A promptPoint is a point with the key of its request, by which samples are drawn.
type promptPoint struct {
	Prompt
	key int64
}

// A promptBin is a number of uncached tokens without its last bits, and whether cached tokens are known.
type promptBin struct {
	tokens int64
	known  bool
}

// promptEnds are the points of a bin with the lowest and the highest TTFT.
type promptEnds struct{ least, most promptPoint }

// compare orders points by TTFT; equal ones in an order that does not depend on the order of the file.
func (p *promptPoint) compare(q *promptPoint) int {
	return cmp.Or(cmp.Compare(p.TTFTNS, q.TTFTNS), cmp.Compare(p.InputTokens, q.InputTokens), cmp.Compare(p.CachedTokens, q.CachedTokens), cmp.Compare(p.key, q.key))
}

// include makes e the ends of both bins.
func (e *promptEnds) include(o *promptEnds) {
	if o.least.compare(&e.least) < 0 {
		e.least = o.least
	}
	if o.most.compare(&e.most) > 0 {
		e.most = o.most
	}
}

// add adds a point.
func (x *prompts) add(p promptPoint) {
	x.n++
	x.put(&promptEnds{p, p})
	x.draw(p)
}

// draw adds a point to the sample, if it is in it.
func (x *prompts) draw(p promptPoint) {
	if x.limit != 0 && p.key >= x.limit {
		return
	}
	x.sample = append(x.sample, p)
	if len(x.sample) > mostPrompts {
		x.cut()
	}
}

// cut leaves promptSample points in the sample.
func (x *prompts) cut() {
	slices.SortFunc(x.sample, func(a, b promptPoint) int { return cmp.Or(cmp.Compare(a.key, b.key), a.compare(&b)) })
	x.limit = x.sample[promptSample].key
	x.sample = x.sample[:promptSample]
}

// put adds the ends of a bin.
func (x *prompts) put(e *promptEnds) {
	if x.bins == nil {
		x.bins, x.bits = map[promptBin]*promptEnds{}, 64
	}
	bin := x.bin(&e.least)
	if old, ok := x.bins[bin]; ok {
		old.include(e)
		return
	}
	ends := *e
	x.bins[bin] = &ends
	for len(x.bins) > mostPromptBins && x.bits > 1 {
		old := x.bins
		x.bins = make(map[promptBin]*promptEnds, len(old))
		x.bits = min(x.bits, longest(old)) - 1
		for _, e := range old {
			bin := x.bin(&e.least)
			if o, ok := x.bins[bin]; ok {
				o.include(e)
			} else {
				x.bins[bin] = e
			}
		}
	}
}

// longest returns the number of bits of the largest number of tokens.
func longest(all map[promptBin]*promptEnds) int {
	n := 0
	for bin := range all {
		n = max(n, bits.Len64(uint64(bin.tokens)))
	}
	return n
}

// bin returns the bin of a point.
func (x *prompts) bin(p *promptPoint) promptBin {
	tokens, known := p.Uncached()
	drop := max(bits.Len64(uint64(tokens))-x.bits, 0)
	return promptBin{tokens >> drop << drop, known}
}

// points returns the points by uncached tokens, and the number of points that are left out.
func (x *prompts) points() (all []Prompt, leftOut int) {
	kept := x.sample
	if x.n > mostPrompts {
		if len(kept) > promptSample {
			x.cut()
			kept = x.sample
		}
		for _, e := range x.bins {
			kept = append(kept, e.least, e.most)
		}
	}
	slices.SortFunc(kept, func(a, b promptPoint) int {
		s, _ := a.Uncached()
		t, _ := b.Uncached()
		return cmp.Or(cmp.Compare(s, t), a.compare(&b))
	})
	if x.n > mostPrompts {
		kept = slices.Compact(kept) // an end may be in the sample
	}
	all = make([]Prompt, len(kept))
	for i := range kept {
		all[i] = kept[i].Prompt
	}
	return all, x.n - len(all)
}
