package backend

// Stateful is implemented by backends whose model may keep state from one request of a
// sequence to the next.
type Stateful interface {
	Backend
	// Stateful reports whether the model keeps state. Run calls it after Check.
	Stateful() bool
}

// SequenceStep is the place of a request in a sequence. The zero value means that the
// request belongs to none.
type SequenceStep struct {
	ID    uint64 // of the sequence, from 1
	Start bool   // the first of its requests
	End   bool   // the last; a sequence of one request has both
}
