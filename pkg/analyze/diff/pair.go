package diff

import (
	"cmp"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
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

// prompts holds the part of the requests of a level that pairing needs.
type prompts struct {
	store *stat.Store
	// place is the position in the order of issue of the level, and input the hash of the request's inputs.
	place, input *stat.List
	ttft, e2el   *stat.List // 0 for a missing value
	missing      bool       // a request has no hash of its inputs
	sorted       bool       // by place, so far
	last         int        // place
}

func newPrompts(store *stat.Store) prompts {
	list := func() *stat.List { return store.NewList(stat.Whole) }
	return prompts{store: store, place: list(), input: list(), ttft: list(), e2el: list(), sorted: true}
}

// add adds a request, whether it counts or not.
func (x *prompts) add(p *analyze.Point) {
	if p.InputHash == 0 {
		x.drop()
	}
	if x.missing {
		return
	}
	var t, e int64
	if p.Counted {
		t, e = p.TTFT.V, p.E2EL.V // 0 if missing
	}
	x.put(int64(p.Place), int64(p.InputHash), t, e)
}

// put adds a prompt.
func (x *prompts) put(place, input, ttft, e2el int64) {
	x.sorted = x.sorted && (x.place.Len() == 0 || int(place) >= x.last)
	x.last = int(place)
	x.place.Add(place)
	x.input.Add(input)
	x.ttft.Add(ttft)
	x.e2el.Add(e2el)
}

// drop drops all prompts: without one of them, the places mean nothing.
func (x *prompts) drop() {
	for _, l := range [...]*stat.List{x.place, x.input, x.ttft, x.e2el} {
		l.Release()
	}
	x.missing = true
}

// sort orders the prompts by place.
func (x *prompts) sort() {
	if x.sorted {
		return
	}
	type placed struct{ place, i int32 }
	order := make([]placed, x.place.Len())
	from := x.read()
	for i := range order {
		order[i] = placed{int32(from.place.At(i)), int32(i)}
	}
	slices.SortFunc(order, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	to := newPrompts(x.store)
	for _, o := range order {
		i := int(o.i)
		to.put(from.place.At(i), from.input.At(i), from.ttft.At(i), from.e2el.At(i))
	}
	x.drop()
	*x = to
}

// read returns a reader of the prompts.
func (x *prompts) read() promptReader {
	return promptReader{x.place.NewCursor(), x.input.NewCursor(), x.ttft.NewCursor(), x.e2el.NewCursor()}
}

// A promptReader reads prompts.
type promptReader struct{ place, input, ttft, e2el *stat.Cursor }

// pairs pairs two runs by the places of their prompts, which are in order. All prompts
// at the same place must be equal, and their number must be at least half of the
// prompts of either run: equal prompts at the start of a long run say little about
// the rest. Runs with a single prompt are not paired, because prompts then cause no
// difference.
func pairs(older, newer *prompts) pairing {
	o, w := older.read(), newer.read()
	n := 0
	varied, same := false, true
	first := int64(0)
	eachPair(&o, &w, func(i, j int) bool {
		input := o.input.At(i)
		if same = input == w.input.At(j); !same {
			return false
		}
		if n == 0 {
			first = input
		}
		n++
		varied = varied || input != first
		return true
	})
	if !same || !varied || 2*n < max(older.place.Len(), newer.place.Len()) {
		return pairing{}
	}
	var p pairing
	var t, e [2]*stat.List
	for side, x := range [...]*prompts{older, newer} {
		t[side], e[side] = x.ttft.Beside(stat.Whole), x.ttft.Beside(stat.Whole)
	}
	add := func(lists *[2]*stat.List, a, b int64) bool {
		if a <= 0 || b <= 0 {
			return false
		}
		lists[0].Add(a)
		lists[1].Add(b)
		return true
	}
	eachPair(&o, &w, func(i, j int) bool {
		if add(&e, o.e2el.At(i), w.e2el.At(j)) {
			p.n++
		}
		add(&t, o.ttft.At(i), w.ttft.At(j))
		return true
	})
	if t[0].Len() > 0 {
		p.ttft = inference.PairsOf(listed(t[0]), listed(t[1]))
	}
	if e[0].Len() > 0 {
		p.e2el = inference.PairsOf(listed(e[0]), listed(e[1]))
	}
	return p
}

// eachPair calls do with the indexes of two prompts at the same place, until it returns false.
func eachPair(older, newer *promptReader, do func(i, j int) bool) {
	for i, j := 0, 0; i < older.place.Len() && j < newer.place.Len(); {
		switch o, n := older.place.At(i), newer.place.At(j); {
		case o < n:
			i++
		case o > n:
			j++
		case !do(i, j):
			return
		default:
			i, j = i+1, j+1
		}
	}
}
