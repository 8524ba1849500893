package workload

// Limit returns n of the entries of src, n ≤ src.Len(): the first ones; for a
// shuffled order any n of them, chosen by its seed, none twice.
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
		// Not the round that is sent first: the choice says nothing of the order.
		k = permute(mix(^l.o.Seed, 0), k, l.src.Len())
	}
	return l.src.At(k)
}
