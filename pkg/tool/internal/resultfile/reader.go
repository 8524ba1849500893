package resultfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// A Reader reads the requests of one file. See [export.Reader] for the contract
// of its methods. It leaves out an entry that breaks the file's format, or that has no
// start time, with a warning.
type Reader struct {
	file *File
	run  *export.Run
	src  Source

	req        export.Request
	responses  []export.Response
	experiment int
	valid      bool
	delivered  bool // at least one request was
	done       bool
	err        error

	warnings []export.Warning
	bad      map[string]int // index in warnings by kind of problem
	skipped  export.Skips
	check    SelfCheck
}

var _ export.Summarized = (*Reader)(nil)

// A Source delivers the requests of a format.
type Source interface {
	// Next fills in r with the next request and returns its experiment. r is empty,
	// but Responses has capacity. The error is io.EOF after the last request, a
	// *BadEntry for one that cannot be used, or the error that ends the reading.
	Next(r *export.Request) (experiment int, err error)
	// Where names the entry of the last call of next, for messages.
	Where() string
	// Check computes the figures that the file states and compares them, after
	// all requests were read.
	Check(c *SelfCheck)
}

// A noter is a source that has notes about the whole file after its last request.
type noter interface {
	// Notes returns them, as messages: how to read the file.
	Notes() []string
}

// A faulty source finds faults of the whole file after its last request.
type faulty interface {
	// Faults returns them, as messages.
	Faults() []string
}

// A BadEntry is the error of an entry that breaks the file's format.
type BadEntry struct {
	At  int64 // offset in the file
	Msg string
	// Excluded reports that the file excludes the entry from its figures.
	Excluded bool
}

func (e *BadEntry) Error() string { return e.Msg }

// NewReader returns a Reader of the requests that src delivers from f.
func NewReader(f *File, run *export.Run, src Source) *Reader {
	return &Reader{file: f, run: run, src: src, bad: map[string]int{}, check: SelfCheck{File: f.Name}}
}

// Run returns the header.
func (r *Reader) Run() *export.Run { return r.run }

// Next advances to the next request.
func (r *Reader) Next() bool {
	r.valid = false
	for r.err == nil && !r.done {
		r.req = export.Request{Responses: r.responses[:0], NoOutputs: true, HasMeta: true}
		clear(r.responses)
		at, err := r.src.Next(&r.req)
		if cap(r.req.Responses) > cap(r.responses) {
			r.responses = r.req.Responses[:cap(r.req.Responses)]
		}
		var bad *BadEntry
		switch {
		case errors.Is(err, io.EOF):
			r.done = true
			r.src.Check(&r.check)
			r.differences()
			if f, ok := r.src.(faulty); ok {
				r.warn(f.Faults(), false)
			}
			if n, ok := r.src.(noter); ok {
				r.warn(n.Notes(), true)
			}
		case errors.As(err, &bad):
			r.leaveOut(at, bad, r.src.Where())
		case err != nil:
			where := r.src.Where()
			r.err = r.file.failed(located(err, where), where, !r.delivered)
		default:
			r.experiment, r.valid, r.delivered = at, true, true
			return true
		}
	}
	return false
}

// located sets Where of a syntax error that has none.
func located(err error, where string) error {
	var s *export.SyntaxError
	if errors.As(err, &s) && s.Where == "" {
		s.Where = where
	}
	return err
}

// leaveOut counts an entry that cannot be used, with a warning for each kind of mistake.
func (r *Reader) leaveOut(experiment int, bad *BadEntry, where string) {
	r.skipped.Add(experiment, bad.Excluded)
	if i, ok := r.bad[bad.Msg]; ok {
		r.warnings[i].Count++
		return
	}
	const kinds = 16 // of messages that quote the file
	if len(r.bad) == kinds {
		for i := range r.warnings { // any of them
			if r.warnings[i].LeftOut {
				r.warnings[i].Count++
				return
			}
		}
	}
	r.bad[bad.Msg] = len(r.warnings)
	r.warnings = append(r.warnings, export.Warning{
		Name: r.file.Name, Offset: bad.At, Where: where, Msg: bad.Msg, Count: 1, LeftOut: true,
	})
}

// differences adds a warning for each difference that the self-check found.
func (r *Reader) differences() {
	for _, d := range r.check.differing {
		r.warnings = append(r.warnings, export.Warning{Name: d.file, Offset: -1, Where: d.where, Msg: d.msg, Count: 1})
	}
	if n := r.check.result.Differing - len(r.check.differing); n > 0 {
		r.warnings = append(r.warnings, export.Warning{
			Name: r.file.Name, Offset: -1, Msg: fmt.Sprintf("%d more of the tool's figures differ from what its requests give", n), Count: 1,
		})
	}
}

// Request returns the current request, valid until the next call of Next; nil
// when there is none.
func (r *Reader) Request() *export.Request {
	if !r.valid {
		return nil
	}
	return &r.req
}

// Experiment returns the index of the current request's experiment.
func (r *Reader) Experiment() int { return r.experiment }

// Err returns what ended the reading before the end of the file.
func (r *Reader) Err() error { return r.err }

// Warnings returns the problems met so far.
func (r *Reader) Warnings() []export.Warning { return r.warnings }

// Skipped returns how many requests of an experiment were left out so far.
func (r *Reader) Skipped(experiment int) (counted, excluded int) {
	return r.skipped.Of(experiment)
}

// SelfCheck returns how the file's own figures compare.
func (r *Reader) SelfCheck() export.SelfCheck { return r.check.finish() }

// SummaryNames returns the names of the files with the tool's own figures and
// settings.
func (r *Reader) SummaryNames(file string) []string {
	if s, ok := r.src.(Summarized); ok {
		return s.SummaryNames(file)
	}
	return nil
}

// warn adds warnings about the whole file.
func (r *Reader) warn(messages []string, note bool) {
	for _, m := range messages {
		r.warnings = append(r.warnings, export.Warning{Name: r.file.Name, Offset: -1, Msg: m, Count: 1, Note: note})
	}
}

// UseSummary makes the self-check compare the figures of such a file too, and takes the
// load from it.
func (r *Reader) UseSummary(name string, content []byte, err error) {
	s, ok := r.src.(Summarized)
	if !ok {
		return
	}
	if err == nil {
		err = s.UseSummary(r.run, name, content)
	}
	if err != nil {
		msg := strings.TrimPrefix(err.Error(), name+": ") + "; it is not used"
		r.warnings = append(r.warnings, export.Warning{Name: name, Offset: -1, Msg: msg, Count: 1})
	}
}

// Close ends the reading. It does not close the file.
func (r *Reader) Close() error {
	r.done, r.valid = true, false
	r.src, r.responses, r.req = closed{}, nil, export.Request{}
	return nil
}

// closed is the source of a Reader after Close.
type closed struct{}

func (closed) Next(*export.Request) (int, error) { return 0, io.EOF }
func (closed) Where() string                     { return "" }
func (closed) Check(*SelfCheck)                  {}

// Scrapes implements [export.Reader]: no file of another tool holds telemetry.
func (r *Reader) Scrapes(context.Context, func(*export.Scrape) error) error { return nil }
