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
	if l.o.Kind == Shuffled {
		// ^Seed: the selection must be independent of the order of sending.
		k = permute(mix(^l.o.Seed, 0), k, l.src.Len())
	}
	return l.src.At(k)
}
