package export

import "errors"

// A Need says what the caller of [Read] needs of a file. The zero value needs whole requests, one
// by one, in the order of [Reader].
type Need struct {
	// Derived says how the caller uses the derived values that the file may store.
	Derived DerivedUse
	// Check asks for requests with which the derived values can be computed again: see [Row].
	// It has no effect on a file for which [StoredIn] returns nil.
	Check Check
	// Batch makes an empty batch. [Rows] then advances by whole batches. The Reader adds the
	// requests of a batch in their order, in a goroutine of its own choice, and calls Batch in any
	// goroutine. nil means single requests.
	Batch func() Batch
	// AnyOrder allows a Reader of several files to give the requests file by file. It then decodes
	// one file at a time, or a few, which takes less memory.
	AnyOrder bool
	// Envelopes allows values with an [Envelope] in single requests, too, so that the Reader need
	// not join such texts.
	Envelopes bool
	// Share is the number of files that the program reads at the same time, so that each Reader
	// keeps to a part of the processors and of the memory. 0 means one.
	Share int
}

// A DerivedUse says how a caller uses the derived values that a file stores. Each use after
// DerivedUnused allows the Reader to leave out more of the requests.
type DerivedUse uint8

const (
	// DerivedBeside needs the derived values beside whole requests.
	DerivedBeside DerivedUse = iota
	// DerivedUnused needs whole requests only.
	DerivedUnused
	// DerivedInstead needs the derived values in place of the inputs and outputs of requests, and
	// of everything else that only a copy of the file needs. The times of requests stay.
	DerivedInstead
	// DerivedBrief is DerivedInstead for a report that needs no times of single events. It has a
	// Request.Summary in place of Request.Responses, and no Derived.Events, where
	// Derived.ITLEvents is known.
	DerivedBrief
)

// A Check says which requests a caller checks.
type Check uint8

// What is checked.
const (
	CheckNone Check = iota
	// CheckSample checks a sample of each part of the file. It depends only on the content of the
	// file, and some of its requests lack inputs and outputs.
	CheckSample
	CheckAll
)

// A Row is a request of a file, as a [Need] asks for it.
type Row struct {
	Request *Request
	// Derived holds the derived values of the request. It does not set Excluded, TPOT and
	// HasTPOT. It is nil if the file has none for the request, or damaged ones, or if they are unused.
	Derived *Derived
	// Check is the request to be checked; Check.Request is nil if this one is not.
	Check CheckedRequest
}

// A CheckedRequest is a request as the file holds it, and its derived values.
type CheckedRequest struct {
	Request *Request
	Derived *Derived // nil if the request has none, or damaged ones
	// Outputs says that Request has its inputs and outputs, as far as the file has them.
	Outputs bool
}

// A Batch takes requests. A Reader uses it again after a Reset.
type Batch interface {
	// Reset empties the batch.
	Reset()
	// Add takes the next request. It must not keep row or anything that row points to. The request
	// may have values with an [Envelope].
	Add(row *Row)
}

// Stored describes the derived values that a file stores.
type Stored struct {
	Derivation
	// Outputs reports whether the file also has the outputs from which they were computed.
	Outputs bool
}

// A SelectiveReader is a Reader that can leave out what its caller does not need. Programs
// call [Read], [Preview] and [StoredIn] for any Reader.
type SelectiveReader interface {
	Reader
	// Preview returns the run without a search for further load levels; Run searches,
	// because it needs their number. The levels and their figures may be incomplete until all
	// requests are read.
	Preview() *Run
	// Stored describes the derived values of the file; nil if it has none.
	Stored() *Stored
	// Begin makes Next begin again with the first request, and read what need asks for. batches
	// reports whether Next advances by batches of need.Batch, as needed; it then delivers them in
	// the order of the file, each with requests of one experiment, and Request returns nil.
	//
	// In batches, the run may lack load levels until Next has returned false. If more turns out to
	// be different from what the run said, Err is then ErrRunChanged.
	Begin(need Need) (batches bool)
	// Row returns the current request, valid until the next call of Next.
	Row() Row
	// Batch returns the current batch, valid until the next call of Next or Close; nil if
	// there is none.
	Batch() Batch
}

// ErrRunChanged says that the header of a file was not what it seemed, so that all batches
// must be read again. The run is complete now.
var ErrRunChanged = errors.New("the file has an unusual layout: read it again from the beginning")

// selective returns r, or the Reader that an Opener wrapped in r, as a SelectiveReader; nil if it
// is none.
func selective(r Reader) SelectiveReader {
	s, _ := formatReader(r).(SelectiveReader)
	return s
}

// Preview returns the run of r without a search for further load levels. See [SelectiveReader].
func Preview(r Reader) *Run {
	if s := selective(r); s != nil {
		return s.Preview()
	}
	return r.Run()
}

// StoredIn describes the derived values of the file that r reads; nil if it has none.
func StoredIn(r Reader) *Stored {
	if s := selective(r); s != nil {
		return s.Stored()
	}
	return nil
}

// ownBatchRequests is the number of requests of a batch that Rows fills itself.
const ownBatchRequests = 64

// Rows are the requests of a Reader, read for a [Need]. It is a Reader itself, which gives
// whole requests to a caller that does not know it.
type Rows struct {
	Reader
	selective SelectiveReader // nil: the Reader gives whole requests
	own       Batch           // filled here; nil for single requests, and if the Reader fills batches
	row       Row
	ahead     bool // the current request of the Reader belongs to the next batch
	ended     bool
	level     int // of own
}

// Read begins to read the requests of r as need says, from the first one: a Reader that was read
// before begins again, unless it comes neither from an [Opener] nor from several Readers of one.
func Read(r Reader, need Need) *Rows {
	s := &Rows{Reader: r, selective: selective(r)}
	batches := false
	if s.selective != nil {
		batches = s.selective.Begin(need)
	}
	if need.Batch != nil && !batches {
		s.own = need.Batch()
	}
	return s
}

// Next advances to the next request or batch, and reports whether there is one.
func (s *Rows) Next() bool {
	if s.own == nil {
		return s.Reader.Next()
	}
	if !s.ahead && !s.next() {
		return false
	}
	s.own.Reset()
	s.level = s.Reader.Experiment()
	for range ownBatchRequests {
		s.own.Add(s.Row())
		if s.ahead = s.next(); !s.ahead || s.Reader.Experiment() != s.level {
			return true
		}
	}
	return true
}

// next advances to the next single request.
func (s *Rows) next() bool {
	s.ended = s.ended || !s.Reader.Next()
	return !s.ended
}

// Row returns the current request, valid until the next call of Next.
func (s *Rows) Row() *Row {
	if s.selective != nil {
		s.row = s.selective.Row()
	} else {
		s.row.Request = s.Request()
	}
	return &s.row
}

// Batch returns the current batch, valid until the next call of Next; nil for single requests.
func (s *Rows) Batch() Batch {
	if s.own != nil || s.selective == nil {
		return s.own
	}
	return s.selective.Batch()
}

// Experiment returns the index in Run().Experiments of the current request or batch.
func (s *Rows) Experiment() int {
	if s.own != nil {
		return s.level
	}
	return s.Reader.Experiment()
}

// A BatchWriter is a Writer that takes batches, so that the goroutines that decode requests also
// encode them. It writes in the background.
type BatchWriter interface {
	Writer
	// NewBatch returns an empty Batch for WriteBatch. Any goroutine may call it.
	NewBatch() Batch
	// WriteBatch writes the requests of b, which NewBatch returned, after all requests written before.
	// b is empty then.
	WriteBatch(b Batch) error
	// Stop waits until the background writes end. Call it before closing the file of a
	// Writer that was not closed.
	Stop()
}
