package export

import "errors"

// A BatchReader is a Reader that can hand the requests to the caller in batches, in the
// goroutines that decode them. Package analyze measures requests so on all cores.
type BatchReader interface {
	Reader
	// InBatches makes Next advance by whole batches, and Request return nil. The Reader adds
	// the requests of a batch in their order, in a goroutine of its own choice; Next delivers
	// the batches in the order of the file, each with requests of one experiment. newBatch
	// may be called in any goroutine. Call InBatches before the first Next. ok is false if
	// the Reader cannot do so; it then reads on as any Reader.
	//
	// The run may lack load levels until Next has returned false, as in a [Previewer]. If
	// more turns out to be different from what the run said, Err is then ErrRunChanged: the
	// run is now complete, and Next begins again with the first batch.
	InBatches(newBatch func() Batch) (ok bool)
	// Batch returns the current batch, valid until the next call of Next or Close; nil if
	// there is none.
	Batch() Batch
}

// ErrRunChanged says that the header of a file was not what it seemed, so that all batches
// must be read again. See [BatchReader].
var ErrRunChanged = errors.New("the file has an unusual layout: read it again from the beginning")

// A Previewer is a Reader that can show the run before it knows all load levels.
type Previewer interface {
	// Preview returns the run without a search for further load levels; Run searches,
	// because it needs their number. The levels and their figures may be incomplete until all requests are read.
	Preview() *Run
}

// Preview returns r.Preview() if r is a [Previewer], else r.Run().
func Preview(r Reader) *Run {
	if p, ok := r.(Previewer); ok {
		return p.Preview()
	}
	return r.Run()
}

// A Batch takes the requests of a [BatchReader]. The Reader uses it again after a Reset.
type Batch interface {
	// Reset empties the batch.
	Reset()
	// Add takes the next request. It must not keep r or anything that r points to. Unlike
	// other requests, r may have values with an [Envelope].
	Add(r *Request)
}

// A DerivedBatch is a Batch that takes the derived values of a file, too. A [DerivedReader] whose
// answers are skipped calls AddDerived in place of Add.
type DerivedBatch interface {
	Batch
	// AddDerived takes the next request and its derived values; d is nil if the request has
	// none. It must not keep r or d or anything that they point to.
	AddDerived(r *Request, d *Derived)
}

// A BatchWriter is a Writer that takes the batches of a [BatchReader], so that the goroutines
// that decode requests also encode them. [Copy] uses it.
type BatchWriter interface {
	Writer
	// NewBatch returns an empty Batch for WriteBatch; nil if the Writer takes single requests
	// only. Any goroutine may call it.
	NewBatch() Batch
	// WriteBatch writes the requests of b, which NewBatch returned, after all requests written before.
	// b is empty then.
	WriteBatch(b Batch) error
}

// InBatches calls the method of that name of r. ok is false if r is no BatchReader.
func InBatches(r Reader, newBatch func() Batch) (_ BatchReader, ok bool) {
	b, ok := r.(BatchReader)
	if !ok || !b.InBatches(newBatch) {
		return nil, false
	}
	return b, true
}

// An EnvelopeReader is a Reader that can leave the envelopes of texts to the caller.
type EnvelopeReader interface {
	Reader
	// WithEnvelopes allows values with an [Envelope] in single requests, too, so that the Reader
	// need not join such texts. Call it before the first Next.
	WithEnvelopes()
}

// WithEnvelopes calls the method of that name of r if r is an [EnvelopeReader].
func WithEnvelopes(r Reader) {
	if e, ok := r.(EnvelopeReader); ok {
		e.WithEnvelopes()
	}
}

// An Envelope is the start and the end of texts that differ only between them, such as the
// events of a streamed answer. It never changes, so what is known about an Envelope holds for
// all values that point to it.
type Envelope struct{ Front, Back []byte }
