package workload

// A Source is an ordered set of Len entries, at least one. They need not be in memory.
type Source interface {
	Len() int
	// At returns entry k, 0 ≤ k < Len, the same one each time. Calls never overlap;
	// they also happen under load.
	At(k int) (Entry, error)
}

// A List is a Source in memory.
type List []Entry

// Len implements Source.
func (l List) Len() int { return len(l) }

// At implements Source; there is no error.
func (l List) At(k int) (Entry, error) { return l[k], nil }
