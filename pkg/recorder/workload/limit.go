package workload

// Limit returns n entries of src, n ≤ src.Len(): the first n, or for a shuffled order n
// different ones that the seed selects.
func Limit(src Source, n int, o Order) Source { return limited{src, n, o} }

type limited struct {
	src Source
	n   int
	o   Order
}

// Len implements Source.
func (l limited) Len() int { return l.n }

// At implements Source.
func (l limited) At(k int) (Entry, error) {
	return l.src.At(l.o.selected(k, l.src.Len()))
}

// selected returns member k of a selection of n.
func (o Order) selected(k, n int) int {
	if o.Kind == Shuffled {
		// ^Seed: the selection must be independent of the order of sending.
		return permute(mix(^o.Seed, 0), k, n)
	}
	return k
}
