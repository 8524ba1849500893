package export

import "context"

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

// A SelfCheck is the result of comparing the figures that a file states with figures
// computed from its requests.
type SelfCheck struct {
	// Compared is the number of compared figures, Differing the number that differ. A
	// Warning names each difference.
	Compared, Differing int
	// Kinds names the kinds of the compared figures, in order: "latencies", "rates".
	Kinds []string
	// NotCompared names figures that the file states and that were not compared, with the
	// reason.
	NotCompared []string
}

// Checked returns the comparison that r made when it had read all requests. ok is false if r reads
// no [Summarized] file, or if nothing was compared.
func Checked(r Reader) (c SelfCheck, ok bool) {
	if s, is := formatReader(r).(Summarized); is {
		c = s.SelfCheck()
	}
	return c, c.Compared > 0
}

// A Summarized is a Reader of a file of another tool, which states figures about its requests, or
// writes the summary and the settings of the run into other files of the same folder.
type Summarized interface {
	Reader
	// SelfCheck compares the stated figures with the requests. It is complete when Next has
	// returned false and Err is nil.
	SelfCheck() SelfCheck
	// SummaryNames returns the names of these files, given the name of the file that
	// the Reader reads; all names are without the folder. It returns nil if the tool
	// writes no such files.
	SummaryNames(file string) []string
	// UseSummary takes the content of one such file, before the first Next. SelfCheck
	// compares the figures of the content with the figures of the run, and the run takes
	// over the load that the content names. name is the path. A non-nil err is the
	// reason why the file could not be read; content is then nil, and a Warning reports
	// err.
	UseSummary(name string, content []byte, err error)
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
