package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/recorder"
)

// journalSuffix follows the stem of the first export in the name of a run's
// journal.
const journalSuffix = ".journal.arrows"

// A recording takes a run into a journal, which survives the end of this
// process, and writes the exports from it when the run is over. It is the
// recorder's export.Writer.
type recording struct {
	ctx context.Context // ends when the run must end at once
	// timeToWrite returns how long the exports may be written after the end of ctx.
	timeToWrite func(journalBytes int64) time.Duration
	outputs     []*output
	// overwrite is what the user said of exports and journals that are there.
	overwrite bool

	path    string                  // of the journal
	file    *os.File                // locked
	queue   *diskQueue              // in front of file
	room    int64                   // bytes that may wait for the disk
	reserve fdReserve               // for writing the exports
	space   diskReserve             // for the end of the journal
	w       *columnar.JournalWriter // nil before the first level
	taken   int                     // number of requests
	warn    func(text string)       // prints a warning; nil: none is printed
	gone    bool                    // the journal was removed, and warn said so
	header  *export.Run             // as far as known when the first level begins
	written []string                // exports that are whole
	summary *summary                // nil: no figures are printed at the end
}

var _ export.Writer = (*recording)(nil)

// maxBacklogBytes is the usual room.
const maxBacklogBytes = 256 << 20

// newRecording chooses the journal's place: beside the first export that is a
// regular file, else in the folder for temporary files. It refuses a journal
// that is there already. The error is of type *cmdline.UsageError.
func newRecording(outputs []*output, overwrite bool) (*recording, error) {
	r := &recording{
		outputs: outputs, overwrite: overwrite, room: maxBacklogBytes, timeToWrite: timeToWrite,
		path: fmt.Sprintf("%s/pa-record-%d%s", os.TempDir(), os.Getpid(), journalSuffix),
	}
	for _, o := range outputs {
		if !o.inPlace {
			r.path = stem(o.target) + journalSuffix
			break
		}
	}
	if st, err := os.Lstat(r.path); err == nil && !st.Mode().IsRegular() {
		return nil, cmdline.Refusedf("%s: not a regular file; remove it, or give another --profile-export-file", r.path)
	}
	f, err := os.Open(r.path)
	if err != nil {
		return r, nil // none, or opening it for writing will say why not
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case !lockFile(f):
		return nil, r.busy()
	case err == nil && st.Size() == 0: // left by a run that was killed before its first request
	case !overwrite:
		return nil, r.leftover()
	}
	return r, nil
}

// busy is the error of two runs with one export.
func (r *recording) busy() error {
	return cmdline.Refusedf("%s: another pa-record is writing it; give another --profile-export-file", r.path)
}

// leftover is the error of a journal that nobody writes any more.
func (r *recording) leftover() error {
	return cmdline.Refusedf("%s was left by a run that was killed; finish it with pa-record recover %s, or give --overwrite", r.path, r.path)
}

// Why takeFile does not give a file.
var (
	errHeld     = errors.New("another process writes it")
	errLeftover = errors.New("it has content")
)

// open creates the journal, or takes the place of a leftover. From the first
// look at it to its end it holds a lock, by which other runs know that it is
// being written. What newRecording found may have changed since: another run
// may have begun, or ended. header is read when the first level begins. ctx
// ends when the run must end at once.
func (r *recording) open(ctx context.Context, header *export.Run) error {
	r.ctx, r.header = ctx, header
	f, err := takeFile(r.path, r.overwrite)
	switch {
	case errors.Is(err, errHeld):
		return r.busy()
	case errors.Is(err, errLeftover):
		return r.leftover()
	case err != nil:
		return fmt.Errorf("--profile-export-file %s: its journal: %w", r.outputs[0].path, err)
	}
	err = r.checkExports()
	if err == nil {
		r.reserve, err = newFDReserve(reservedFDs)
	}
	if err == nil {
		r.space, err = newDiskReserve(filepath.Dir(r.path))
	}
	if err != nil {
		r.reserve.release()
		return errors.Join(err, removeHeld(f, r.path))
	}
	r.file, r.queue = f, newDiskQueue(f)
	return nil
}

// checkExports refuses to replace an export that another run wrote in the
// meantime.
func (r *recording) checkExports() error {
	for _, o := range r.outputs {
		if o.inPlace || r.overwrite {
			continue
		}
		if _, err := os.Lstat(o.target); err == nil {
			return cmdline.Refusedf("%s exists by now; give --overwrite or another --profile-export-file", o.path)
		}
	}
	return nil
}

// discard removes a journal to which nothing was written.
func (r *recording) discard() {
	r.reserve.release()
	r.space.release()
	_ = r.queue.Close()
	_ = removeHeld(r.file, r.path)
}

// BeginExperiment implements export.Writer.
func (r *recording) BeginExperiment(mode, value string) error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.failed(r.w.BeginExperiment(mode, value))
}

// WriteRequest implements export.Writer.
func (r *recording) WriteRequest(q *export.Request) error {
	if r.summary != nil {
		r.summary.add(q)
	}
	r.taken++
	return r.failed(r.w.WriteRequest(q))
}

// EndExperiment implements export.Writer.
func (r *recording) EndExperiment(e *export.Experiment) error {
	return r.failed(r.w.EndExperiment(e))
}

// WriteScrape implements export.Writer.
func (r *recording) WriteScrape(s *export.Scrape) error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.failed(r.w.WriteScrape(s))
}

// begin writes the head of the journal, once.
func (r *recording) begin() (err error) {
	if r.w == nil {
		r.w, err = columnar.NewJournalWriter(r.queue, r.header)
	}
	return r.failed(err)
}

// Flush hands what was recorded so far to the goroutine that writes it.
func (r *recording) Flush() error {
	if r.w == nil {
		return nil
	}
	if err := r.queue.Err(); err != nil {
		return r.failed(err)
	}
	if !r.gone && !isAt(r.file, r.path) {
		r.gone = true
		if r.warn != nil {
			r.warn(fmt.Sprintf("%s was removed or renamed during the run; the run continues and writes it again at its end", r.path))
		}
	}
	return r.failed(r.w.Flush())
}

// restore writes a removed journal again; its content exists as long as the file is
// open. If another file has taken its place, restore writes the journal into the
// folder for temporary files.
func (r *recording) restore() error {
	if isAt(r.file, r.path) {
		return nil
	}
	path := r.path
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	var f *os.File
	if err == nil {
		f, err = takeFile(path, false)
	}
	if err != nil {
		path = filepath.Join(os.TempDir(), fmt.Sprintf("pa-record-%d%s", os.Getpid(), journalSuffix))
		if f, err = takeFile(path, false); err != nil {
			return fmt.Errorf("journal %s was removed, and cannot be written to %s: %w", r.path, path, err)
		}
	}
	st, err := r.file.Stat()
	if err == nil {
		_, err = io.Copy(f, io.NewSectionReader(r.file, 0, st.Size()))
	}
	if err != nil {
		return errors.Join(diskError("journal "+path, err), removeHeld(f, path))
	}
	_ = r.file.Close() // it was read to its end, and has no name
	r.file, r.path = f, path
	return nil
}

// Backlog returns how much of what was recorded is not in the file yet, and how
// much may wait.
func (r *recording) Backlog() (waiting, room int64) {
	return r.queue.Waiting() + r.w.BufferedBytes(), r.room
}

func (r *recording) failed(err error) error {
	if err != nil {
		return diskError("journal "+r.path, err)
	}
	return nil
}

// Close completes the journal, writes the exports from it and removes it. When
// an export cannot be written the journal stays. A journal that broke off gives
// exports of what it holds; the error of Close is the journal's then.
func (r *recording) Close(run *export.Run) error {
	jerr := r.endJournal(run)
	if err := r.restore(); err != nil {
		r.reserve.release()
		r.space.release()
		return errors.Join(jerr, err)
	}
	r.reserve.release()
	r.space.release()
	var edit func(*export.Run)
	if jerr != nil {
		edit = func(broken *export.Run) { // the end of the run is not in the journal
			experiments := broken.Experiments
			*broken = *run
			broken.Experiments = experiments
		}
	}
	if r.summary != nil {
		r.summary.start(r.path, edit)
	}
	writing, release := outlive(r.ctx, r.timeToWrite(r.queue.Written().bytes))
	defer release()
	written, requests, werr := finalize(writing, r.path, r.outputs, edit)
	if r.summary != nil {
		r.summary.wait() // it reads the journal, which may be removed now
	}
	r.written = written
	if werr != nil && writing.Err() != nil {
		werr, requests = context.Cause(writing), r.taken // they were not all read again
	}
	var cut *cutError
	switch {
	case werr != nil && requests == 0 && errors.As(jerr, &cut):
		return fmt.Errorf("%w; no request could be kept", errors.Join(jerr, removeHeld(r.file, r.path)))
	case werr != nil:
		return journalKept(r.path, requests, errors.Join(jerr, werr, r.failed(r.file.Close())))
	case jerr != nil:
		return fmt.Errorf("%w; requests kept: %d, in %s", errors.Join(jerr, removeHeld(r.file, r.path)), requests, strings.Join(written, ", "))
	}
	return removeHeld(r.file, r.path)
}

// endJournal writes the end of the journal and waits until all of it is on the
// disk.
func (r *recording) endJournal(run *export.Run) error {
	err := r.begin()
	if err == nil {
		err = r.failed(r.w.Close(run))
	}
	if qerr := r.queue.Close(); qerr != nil { // the cause
		qerr = r.failed(qerr)
		r.breakOff(run, qerr)
		return qerr
	}
	select {
	case <-r.ctx.Done(): // the system writes it by itself
		return err
	default:
	}
	if err == nil {
		err = r.failed(r.file.Sync())
	}
	return err
}

// breakOff makes of a journal that could not be written to its end, because of
// err, one that says so. Where not even that can be written, it is like that of a
// run that was killed.
func (r *recording) breakOff(run *export.Run, err error) {
	if _, told := endedEarly(run); !told && run.Meta != nil { // nobody had noticed so far
		run.Meta.Warnings = append(run.Meta.Warnings, recorder.EndedEarly+err.Error())
	}
	r.space.release()
	if cut := (*cutError)(nil); errors.As(err, &cut) {
		_ = r.cutTo(cut.bytes) // the rest reads like the journal of a killed run
		return
	}
	whole := r.queue.Written()
	if r.cutTo(whole.bytes) != nil {
		return
	}
	if columnar.EndJournal(r.file, whole.blocks, run) != nil {
		_ = r.cutTo(whole.bytes) // at worst it ends with a part of a frame, which readers leave out
	}
}

// cutTo cuts the journal, and sets its end as the place to write at.
func (r *recording) cutTo(size int64) error {
	if err := r.file.Truncate(size); err != nil {
		return err
	}
	_, err := r.file.Seek(size, io.SeekStart)
	return err
}

// endedEarly returns why a run was ended by an error, if it was.
func endedEarly(run *export.Run) (why string, ok bool) {
	if run.Meta == nil {
		return "", false
	}
	for _, w := range run.Meta.Warnings {
		if why, ok := strings.CutPrefix(w, recorder.EndedEarly); ok {
			return why, true
		}
	}
	return "", false
}

// journalKept says in one line that the journal at path stays because of err, how
// many requests it has, and what to do.
func journalKept(path string, requests int, err error) error {
	advice := diskAdvice(err)
	if advice != "" {
		advice += ", then run "
	}
	return &keptError{fmt.Sprintf("%s; requests kept: %d, in %s: %spa-record recover %s", oneLine(err), requests, path, advice, path), err}
}

// A keptError is an error with a text of its own.
type keptError struct {
	text string
	err  error
}

func (e *keptError) Error() string { return e.text }
func (e *keptError) Unwrap() error { return e.err }

// finalize writes the outputs from the journal at path. edit, if not nil,
// changes the header on its way. It returns the outputs that are whole and how
// many requests the journal has, as far as it can be read. A journal that breaks
// off is no error here.
func finalize(ctx context.Context, path string, outputs []*output, edit func(*export.Run)) (written []string, requests int, err error) {
	var errs []error
	for _, o := range outputs {
		r, err := openJournal(ctx, path)
		if err != nil {
			return written, requests, err
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
		for ctx.Err() == nil && src.Next() { // what was not written counts too
		}
		requests = max(requests, src.requests)
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
