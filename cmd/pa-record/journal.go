package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

// journalSuffix follows the stem of the first export in the name of a run's
// journal.
const journalSuffix = ".journal.arrows"

// A recording takes a run into a journal, which survives the end of this
// process, and writes the exports from it when the run is over. It is the
// recorder's export.Writer.
type recording struct {
	ctx     context.Context // for writing the exports
	outputs []*output
	path    string // of the journal
	file    *os.File
	w       *columnar.JournalWriter // nil before the first level
	header  *export.Run             // as far as known when the first level begins
	written []string                // exports that are whole
}

var _ export.Writer = (*recording)(nil)

// newRecording chooses the journal's place: beside the first export that is a
// regular file, else in the folder for temporary files. It refuses a journal
// that is there already. The error is of type *cmdline.UsageError.
func newRecording(outputs []*output, overwrite bool) (*recording, error) {
	r := &recording{outputs: outputs, path: fmt.Sprintf("%s/pa-record-%d%s", os.TempDir(), os.Getpid(), journalSuffix)}
	for _, o := range outputs {
		if !o.inPlace {
			r.path = stem(o.target) + journalSuffix
			break
		}
	}
	f, err := os.Open(r.path)
	if err != nil {
		return r, nil // none, or opening it for writing will say why not
	}
	defer f.Close()
	switch {
	case !lockFile(f):
		return nil, r.busy()
	case !overwrite:
		return nil, cmdline.Usagef("%s is there: a run that was killed left it; finish it with pa-record recover %s, or give --overwrite", r.path, r.path)
	}
	return r, nil
}

// busy is the error of two runs with one export.
func (r *recording) busy() error {
	return cmdline.Usagef("%s: another pa-record is writing it; give another --profile-export-file", r.path)
}

// open creates the journal. It holds a lock, by which other runs know that it
// is being written. header is read when the first level begins. ctx is for the
// writing of the exports.
func (r *recording) open(ctx context.Context, header *export.Run) error {
	r.ctx, r.header = ctx, header
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return r.busy()
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if !lockFile(f) {
		return errors.Join(r.busy(), f.Close())
	}
	r.file = f
	return nil
}

// discard removes a journal to which nothing was written.
func (r *recording) discard() {
	_ = r.file.Close()
	_ = os.Remove(r.path)
}

// BeginExperiment implements export.Writer.
func (r *recording) BeginExperiment(mode, value string) (err error) {
	if r.w == nil {
		if r.w, err = columnar.NewJournalWriter(r.file, r.header); err != nil {
			return r.failed(err)
		}
	}
	return r.failed(r.w.BeginExperiment(mode, value))
}

// WriteRequest implements export.Writer.
func (r *recording) WriteRequest(q *export.Request) error { return r.failed(r.w.WriteRequest(q)) }

// EndExperiment implements export.Writer.
func (r *recording) EndExperiment(e *export.Experiment) error {
	return r.failed(r.w.EndExperiment(e))
}

// Flush hands what was recorded so far to the operating system.
func (r *recording) Flush() error {
	if r.w == nil {
		return nil
	}
	return r.failed(r.w.Flush())
}

func (r *recording) failed(err error) error {
	if err != nil {
		return fmt.Errorf("journal %s: %w", r.path, err)
	}
	return nil
}

// Close completes the journal, writes the exports from it and removes it. When
// an export cannot be written the journal stays.
func (r *recording) Close(run *export.Run) error {
	if r.w == nil { // interrupted before the first level
		w, err := columnar.NewJournalWriter(r.file, r.header)
		if err != nil {
			return r.failed(err)
		}
		r.w = w
	}
	// What a broken journal holds is still worth writing.
	err := errors.Join(r.failed(r.w.Close(run)), r.failed(r.file.Sync()))
	written, _, werr := finalize(r.ctx, r.path, r.outputs, nil)
	r.written = written
	err = errors.Join(err, werr)
	if cerr := r.file.Close(); cerr != nil {
		err = errors.Join(err, r.failed(cerr))
	}
	if err != nil {
		return fmt.Errorf("%w; what was recorded is in %s, see pa-record recover", err, r.path)
	}
	return os.Remove(r.path)
}

// finalize writes the outputs from the journal at path. edit, if not nil,
// changes the header on its way. It returns the outputs that are whole and how
// many requests the journal gave. A journal that breaks off is no error here.
func finalize(ctx context.Context, path string, outputs []*output, edit func(*export.Run)) (written []string, requests int, err error) {
	var errs []error
	for _, o := range outputs {
		r, err := openJournal(ctx, path)
		if err != nil {
			return written, 0, err
		}
		src := &editedRun{Reader: r, run: r.Run()}
		if edit != nil {
			run := *r.Run()
			edit(&run)
			src.run = &run
		}
		err = o.write(ctx, src)
		if err == nil {
			written = append(written, o.path)
		}
		requests = src.requests
		errs = append(errs, err, r.Close())
	}
	return written, requests, errors.Join(errs...)
}

func openJournal(ctx context.Context, path string) (export.Reader, error) {
	o := export.Opener{Formats: []export.Format{columnar.Journal{}}}
	return o.Open(ctx, path)
}

// An editedRun is a reader with another header, which counts its requests.
type editedRun struct {
	export.Reader
	run      *export.Run
	requests int
}

// Run implements export.Reader.
func (e *editedRun) Run() *export.Run { return e.run }

// Next implements export.Reader.
func (e *editedRun) Next() bool {
	ok := e.Reader.Next()
	if ok {
		e.requests++
	}
	return ok
}
