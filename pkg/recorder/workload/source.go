package workload

// A Source holds what can be sent: Len entries, at least one. It need not hold
// them in memory.
type Source interface {
	Len() int
	// At returns entry k, 0 ≤ k < Len. It is the same one whenever it is asked
	// for. It is called from one goroutine at a time, also while load is on.
	At(k int) (Entry, error)
}

// A List is a Source in memory.
type List []Entry

// Len implements Source.
func (l List) Len() int { return len(l) }

// At implements Source; there is no error.
func (l List) At(k int) (Entry, error) { return l[k], nil }
