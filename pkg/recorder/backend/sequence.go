package backend

// A Stateful is a backend whose model may keep state from one request to the
// next, by sequences.
type Stateful interface {
	Backend
	// Stateful reports whether the model does; it is known after Check.
	Stateful() bool
}

// A SequenceStep says which request of a sequence an exchange is. The zero value
// says that it is of none.
type SequenceStep struct {
	ID    uint64 // of the sequence, from 1
	Start bool   // the first of its requests
	End   bool   // the last; a sequence of one request has both
}
