package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/recorder"
)

// Suffix ends the name of a journal.
const Suffix = ".journal.arrows"

// PathFor returns the path of the journal of an export: run.json has the journal
// run.journal.arrows.
func PathFor(exportPath string) string { return stem(exportPath) + Suffix }

// defaultBacklogBytes is the default of Config.MaxBacklogBytes.
const defaultBacklogBytes = 256 << 20

// Config says where a Writer keeps a run.
type Config struct {
	// Exports are written by Close, in this order; at least one. The journal is beside
	// the first that is a regular file, else in the folder for temporary files.
	Exports []*Export
	// Overwrite allows a journal that a killed run left to be replaced.
	Overwrite bool
	// MaxBacklogBytes is how much may wait for the disk in memory, see [Writer.Backlog];
	// 0 means 256 MiB.
	MaxBacklogBytes int64
	// Warn, if not nil, gets a text when another program removed the journal. It is
	// called from Flush, once at most.
	Warn func(text string)
	// Examine, if not nil, is called by Close in a goroutine of its own, while the
	// exports are written; Close waits for it. open opens the whole journal, with the
	// header of the exports.
	Examine func(open Open)
}

// An Open opens a journal for reading.
type Open func(ctx context.Context) (export.Reader, error)

// A Writer takes a run into a journal, which survives the end of this process, and
// writes the exports from it when the run is over. It implements export.Writer and what
// recorder.Config.Writer may have beyond that. Its methods are not for concurrent use.
type Writer struct {
	cfg Config
	ctx context.Context // ends when the run must end at once
	// timeToWrite returns how long the exports may be written after the end of ctx.
	timeToWrite func(journalBytes int64) time.Duration

	path    string                  // of the journal
	file    *os.File                // locked
	queue   *diskQueue              // in front of file
	reserve fdReserve               // for writing the exports
	space   diskReserve             // for the end of the journal
	journal *columnar.JournalWriter // nil before the first level
	taken   int                     // number of requests
	gone    bool                    // the journal was removed, and Warn said so
	header  *export.Run             // as far as known when the first level begins
	written []string                // paths of the exports that are whole
}

var _ export.Writer = (*Writer)(nil)

// NewWriter chooses the path of the journal and refuses, with a *FileError, one that
// exists: its reason is [ErrLeftover], [ErrBusy] or [ErrNotRegular]. A journal without
// content counts as none. NewWriter writes nothing; the Writer begins with Open.
func NewWriter(cfg Config) (*Writer, error) {
	if err := checkExports(cfg.Exports); err != nil {
		return nil, err
	}
	if cfg.MaxBacklogBytes == 0 {
		cfg.MaxBacklogBytes = defaultBacklogBytes
	}
	w := &Writer{cfg: cfg, timeToWrite: timeToWrite, path: temporaryPath()}
	for _, e := range cfg.Exports {
		if !e.inPlace {
			w.path = PathFor(e.target)
			break
		}
	}
	if st, err := os.Lstat(w.path); err == nil && !st.Mode().IsRegular() {
		return nil, &FileError{w.path, ErrNotRegular}
	}
	f, err := os.Open(w.path)
	if err != nil {
		return w, nil // none, or opening it for writing will say why not
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case !lockFile(f):
		return nil, &FileError{w.path, ErrBusy}
	case err == nil && st.Size() == 0: // left by a run that was killed before its first request
	case !cfg.Overwrite:
		return nil, &FileError{w.path, ErrLeftover}
	}
	return w, nil
}

// temporaryPath is the path of a journal that has no place beside an export.
func temporaryPath() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("pa-record-%d%s", os.Getpid(), Suffix))
}

// Path returns the path of the journal. Close may change it, see there.
func (w *Writer) Path() string { return w.path }

// Written returns the paths of the exports that Close wrote, as given to NewExport.
func (w *Writer) Written() []string { return w.written }

// Open creates the journal, or empties one that may be overwritten. From now until
// Close or Discard it holds a lock, by which other runs know that it is being written.
// Open looks again for what NewWriter and NewExport refuse, because another run may have
// begun or ended since, and refuses it with a *FileError; other errors are about the
// reserves.
//
// The Writer reads header when the first level begins. When ctx ends, the run must end
// at once: Close then writes the exports only if that takes a few seconds at most (5 s;
// 250 ms when the journal is larger than 16 MiB).
func (w *Writer) Open(ctx context.Context, header *export.Run) error {
	w.ctx, w.header = ctx, header
	f, err := takeFile(w.path, w.cfg.Overwrite)
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, ErrLeftover):
		return &FileError{w.path, err}
	case err != nil:
		return &FileError{w.cfg.Exports[0].path, fmt.Errorf("its journal: %w", err)}
	}
	err = w.recheckExports()
	if err == nil {
		w.reserve, err = newFDReserve(reservedFDs)
	}
	if err == nil {
		w.space, err = newDiskReserve(filepath.Dir(w.path))
	}
	if err != nil {
		w.reserve.release()
		return errors.Join(err, removeHeld(f, w.path))
	}
	w.file, w.queue = f, newDiskQueue(f)
	return nil
}

// recheckExports refuses to replace an export that another run wrote in the meantime.
func (w *Writer) recheckExports() error {
	for _, e := range w.cfg.Exports {
		if e.inPlace || e.overwrite {
			continue
		}
		if _, err := os.Lstat(e.target); err == nil {
			return &FileError{e.path, ErrExists}
		}
	}
	return nil
}

// Discard removes the journal and writes no export. It is for a run that sent nothing,
// instead of Close.
func (w *Writer) Discard() {
	w.reserve.release()
	w.space.release()
	_ = w.queue.Close()
	_ = removeHeld(w.file, w.path)
}

// BeginExperiment implements export.Writer.
func (w *Writer) BeginExperiment(mode, value string) error {
	if err := w.begin(); err != nil {
		return err
	}
	return w.failed(w.journal.BeginExperiment(mode, value))
}

// WriteRequest implements export.Writer.
func (w *Writer) WriteRequest(q *export.Request) error {
	w.taken++
	return w.failed(w.journal.WriteRequest(q))
}

// EndExperiment implements export.Writer.
func (w *Writer) EndExperiment(e *export.Experiment) error {
	return w.failed(w.journal.EndExperiment(e))
}

// WriteScrape implements export.Writer.
func (w *Writer) WriteScrape(s *export.Scrape) error {
	if err := w.begin(); err != nil {
		return err
	}
	return w.failed(w.journal.WriteScrape(s))
}

// begin writes the head of the journal, once.
func (w *Writer) begin() (err error) {
	if w.journal == nil {
		w.journal, err = columnar.NewJournalWriter(w.queue, w.header)
	}
	return w.failed(err)
}

// Flush hands the recorded requests to the goroutine that writes them. It returns the
// first error of writing so far. recorder.Run calls Flush a few times a second.
func (w *Writer) Flush() error {
	if w.journal == nil {
		return nil
	}
	if err := w.queue.Err(); err != nil {
		return w.failed(err)
	}
	if !w.gone && !isAt(w.file, w.path) {
		w.gone = true
		if w.cfg.Warn != nil {
			w.cfg.Warn(fmt.Sprintf("%s was removed or renamed during the run; the run continues and writes it again at its end", w.path))
		}
	}
	return w.failed(w.journal.Flush())
}

// restore writes a removed journal again; its content exists as long as the file is
// open. If another file has taken its place, restore writes the journal into the
// folder for temporary files.
func (w *Writer) restore() error {
	if isAt(w.file, w.path) {
		return nil
	}
	path := w.path
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	var f *os.File
	if err == nil {
		f, err = takeFile(path, false)
	}
	if err != nil {
		path = temporaryPath()
		if f, err = takeFile(path, false); err != nil {
			return fmt.Errorf("journal %s was removed, and cannot be written to %s: %w", w.path, path, err)
		}
	}
	st, err := w.file.Stat()
	if err == nil {
		_, err = io.Copy(f, io.NewSectionReader(w.file, 0, st.Size()))
	}
	if err != nil {
		return errors.Join(diskError("journal "+path, err), removeHeld(f, path))
	}
	_ = w.file.Close() // it was read to its end, and has no name
	w.file, w.path = f, path
	return nil
}

// Backlog returns how many bytes of what was recorded are not in the file yet, and how
// many may wait. A kill loses those that wait. The Writer takes more than room, so that
// requests in flight are not lost; recorder.Run drops outputs and then ends the run.
func (w *Writer) Backlog() (waiting, room int64) {
	waiting = w.queue.Waiting()
	if w.journal != nil {
		waiting += w.journal.BufferedBytes()
	}
	return waiting, w.cfg.MaxBacklogBytes
}

func (w *Writer) failed(err error) error {
	if err != nil {
		return diskError("journal "+w.path, err)
	}
	return nil
}

// Close completes the journal, writes the exports from it and removes it. When an export
// cannot be written the journal stays, and the error is a *KeptError. A journal that
// broke off gives exports of what it holds; the error of Close is the journal's then.
// If another program put something else in the journal's place, Close moves it to the
// folder for temporary files.
func (w *Writer) Close(run *export.Run) error {
	jerr := w.endJournal(run)
	if err := w.restore(); err != nil {
		w.reserve.release()
		w.space.release()
		return errors.Join(jerr, err)
	}
	w.reserve.release()
	w.space.release()
	var edit func(*export.Run)
	if jerr != nil {
		edit = func(broken *export.Run) { // the end of the run is not in the journal
			experiments := broken.Experiments
			*broken = *run
			broken.Experiments = experiments
		}
	}
	waitForExamination := w.examine(edit)
	writing, release := outlive(w.ctx, w.timeToWrite(w.queue.Written().bytes))
	defer release()
	written, requests, werr := finalize(writing, w.path, w.cfg.Exports, edit)
	waitForExamination() // it reads the journal, which may be removed now
	w.written = written
	if werr != nil && writing.Err() != nil {
		werr, requests = context.Cause(writing), w.taken // they were not all read again
	}
	var cut *cutError
	switch {
	case werr != nil && requests == 0 && errors.As(jerr, &cut):
		return fmt.Errorf("%w; no request could be kept", errors.Join(jerr, removeHeld(w.file, w.path)))
	case werr != nil:
		return &KeptError{w.path, requests, errors.Join(jerr, werr, w.failed(w.file.Close()))}
	case jerr != nil:
		return fmt.Errorf("%w; requests kept: %d, in %s", errors.Join(jerr, removeHeld(w.file, w.path)), requests, strings.Join(written, ", "))
	}
	return removeHeld(w.file, w.path)
}

// examine starts Config.Examine. wait waits for its end.
func (w *Writer) examine(edit func(*export.Run)) (wait func()) {
	if w.cfg.Examine == nil {
		return func() {}
	}
	done := make(chan struct{})
	path := w.path
	go func() { // wait waits for it
		defer close(done)
		w.cfg.Examine(func(ctx context.Context) (export.Reader, error) {
			r, err := openEdited(ctx, path, edit)
			if err != nil {
				return nil, err
			}
			return r, nil
		})
	}()
	return func() { <-done }
}

// endJournal writes the end of the journal and waits until all of it is on the
// disk.
func (w *Writer) endJournal(run *export.Run) error {
	err := w.begin()
	if err == nil {
		err = w.failed(w.journal.Close(run))
	}
	if qerr := w.queue.Close(); qerr != nil { // the cause
		qerr = w.failed(qerr)
		w.breakOff(run, qerr)
		return qerr
	}
	select {
	case <-w.ctx.Done(): // the system writes it by itself
		return err
	default:
	}
	if err == nil {
		err = w.failed(w.file.Sync())
	}
	return err
}

// breakOff writes an end to a journal whose writing failed with err. The end names err.
// If the disk does not take the end either, the journal reads like the journal of a
// killed run.
func (w *Writer) breakOff(run *export.Run, err error) {
	if _, told := endedEarly(run); !told && run.Meta != nil { // nobody had noticed so far
		run.Meta.Warnings = append(run.Meta.Warnings, recorder.EndedEarly+err.Error())
	}
	w.space.release()
	if cut := (*cutError)(nil); errors.As(err, &cut) {
		_ = w.cutTo(cut.bytes) // the rest reads like the journal of a killed run
		return
	}
	whole := w.queue.Written()
	if w.cutTo(whole.bytes) != nil {
		return
	}
	if columnar.EndJournal(w.file, whole.blocks, run) != nil {
		_ = w.cutTo(whole.bytes) // at worst it ends with a part of a frame, which readers leave out
	}
}

// cutTo cuts the journal, and sets its end as the place to write at.
func (w *Writer) cutTo(size int64) error {
	if err := w.file.Truncate(size); err != nil {
		return err
	}
	_, err := w.file.Seek(size, io.SeekStart)
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
