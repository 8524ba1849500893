package export

import (
	"context"
	"errors"
	"fmt"
)

// A Reader reads the requests of one run from a file.
//
// Run is complete (experiments, windows, metadata) before the first call of
// Next. Requests come in file order, experiment by experiment. Within an experiment the
// requests that count come first, then the requests with a reason in
// [Request.Excluded]. Memory does not grow with the number of requests.
//
// A Reader is for one goroutine.
type Reader interface {
	// Run returns the header. It stays valid after Close and must not be
	// changed.
	Run() *Run
	// Next advances to the next request and reports whether there is one.
	Next() bool
	// Request returns the current request. It and everything it points to is
	// valid until the next call of Next, unless cloned.
	Request() *Request
	// Experiment returns the index in Run().Experiments of the current
	// request.
	Experiment() int
	// Scrapes calls do for each scrape of telemetry, in the order of the file. A scrape
	// is valid until do returns, its Series until Close. Scrapes may be called at any
	// time before Close, and several times. It returns the error of do, or the cause of
	// ctx. It skips unreadable scrapes with a warning.
	Scrapes(ctx context.Context, do func(*Scrape) error) error
	// Skipped returns how many requests of an experiment the Reader left out so far,
	// each with a Warning that is LeftOut. counted is the number of requests that would count,
	// excluded the number that the file excludes.
	Skipped(experiment int) (counted, excluded int)
	// Err returns the error that ended the reading early, or nil after a complete
	// read: an I/O error, a *CutError for a file that ends too soon, or a *SyntaxError
	// for a file that breaks its format. Requests before the error are valid.
	Err() error
	// Warnings returns the problems in the data so far, each kind once with a count.
	Warnings() []Warning
	// Close releases the file. It may be called at any time and twice.
	Close() error
}

// A Writer writes one run. Calls come in the order
//
//	(BeginExperiment WriteRequest* EndExperiment)* Close
//
// and from one goroutine. Excluded requests may come between the others; the
// Writer stores them where its format expects them.
type Writer interface {
	// BeginExperiment starts a load level with the Mode and Value of an [Experiment].
	BeginExperiment(mode, value string) error
	// WriteRequest writes one request of the current experiment. The caller may reuse
	// r and its memory afterwards.
	WriteRequest(r *Request) error
	// EndExperiment ends the load level and writes its header. It ignores Mode and
	// Value of e.
	EndExperiment(e *Experiment) error
	// WriteScrape writes one scrape of telemetry, at any time before Close. The caller
	// may reuse s afterwards, but must not change its Series.
	WriteScrape(s *Scrape) error
	// Close writes the header fields of run (its Experiments are ignored) and
	// flushes. It does not close the underlying file.
	Close(run *Run) error
}

// Skips counts the requests that a reader left out, by experiment.
type Skips []struct{ counted, excluded int }

// Add counts a request of experiment. excluded reports that the file excludes it.
func (s *Skips) Add(experiment int, excluded bool) {
	for len(*s) <= experiment {
		*s = append(*s, struct{ counted, excluded int }{})
	}
	if excluded {
		(*s)[experiment].excluded++
	} else {
		(*s)[experiment].counted++
	}
}

// Of returns the counts of experiment, 0 if there is no such experiment.
func (s Skips) Of(experiment int) (counted, excluded int) {
	if experiment < 0 || experiment >= len(s) {
		return 0, 0
	}
	return s[experiment].counted, s[experiment].excluded
}

// A WriteState says which calls a Writer accepts.
type WriteState int

// The states, in the order in which a writer enters them.
const (
	BetweenExperiments WriteState = iota
	InExperiment
	Closed
)

// A WriteOrder checks the order of the calls of a Writer: it holds the state and the first error.
type WriteOrder struct {
	Format string // what the writer writes, for messages
	State  WriteState
	Err    error
}

// Enter returns nil if the writer is in the state that call needs. Otherwise it fails.
func (c *WriteOrder) Enter(need WriteState, call string) error {
	switch {
	case c.Err != nil:
		return c.Err
	case c.State == need:
		return nil
	case c.State == Closed:
		return c.Fail(errors.New(call + " after Close"))
	case c.State == InExperiment:
		return c.Fail(errors.New(call + " within an experiment"))
	}
	return c.Fail(errors.New(call + " outside an experiment"))
}

// EnterOpen is Enter for a call that every state but Closed allows.
func (c *WriteOrder) EnterOpen(call string) error { return c.Enter(min(c.State, InExperiment), call) }

// Fail keeps err if it is the first error. It returns the first error, and nil if there was none.
func (c *WriteOrder) Fail(err error) error {
	if c.Err == nil && err != nil {
		c.Err = fmt.Errorf("write %s: %w", c.Format, err)
	}
	return c.Err
}

// An opened is a Reader that owns its file.
type opened struct {
	Reader
	close  func() error
	again  func(context.Context) (Reader, error)
	beside string // path of the file whose folder may hold summaries; "" for none
	name   string
	size   int64 // of the decompressed content
	damage error // error in the compressed file, nil for none
	found  bool  // Next found a request
	ended  bool  // Next found no more
}

// Next advances to the next request.
func (r *opened) Next() bool {
	if r.Reader.Next() {
		r.found = true
		return true
	}
	r.ended = true
	return false
}

// Empty reports whether the caller has read r to its end without finding a request, not even
// a failed one. It is false if r does not come from an [Opener].
func Empty(r Reader) bool {
	o, ok := r.(*opened)
	return ok && o.ended && !o.found
}

// Err returns the error that ended the reading. For a damaged compressed file it wraps
// the decompression error and, if the content broke off there, the *CutError of the
// content.
func (r *opened) Err() error {
	err := r.Reader.Err()
	switch {
	case r.damage == nil:
		return err
	case err == nil:
		return fmt.Errorf("%s: damaged after %d bytes of content: %w", r.name, r.size, r.damage)
	}
	return fmt.Errorf("%w; %s is damaged there: %w", err, r.name, r.damage)
}

func (r *opened) Close() error {
	err := r.Reader.Close()
	if r.close != nil {
		err = errors.Join(err, r.close())
		r.close = nil
	}
	return err
}

// formatReader returns the Reader that an Opener wrapped in r; r if it wrapped none.
func formatReader(r Reader) Reader {
	if o, ok := r.(*opened); ok {
		return o.Reader
	}
	return r
}

// A Reopener is a Reader whose content can be read twice at the same time: see [Reopen].
type Reopener interface {
	Reader
	// Reopen returns a second Reader. ok is false if the content cannot be read twice.
	Reopen(ctx context.Context) (again Reader, ok bool, err error)
}
