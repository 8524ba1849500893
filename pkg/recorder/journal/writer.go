package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// Suffix ends the name of a journal.
const Suffix = formats.JournalSuffix

// PathFor returns the path of the journal of an export: run.json has the journal
// run.journal.
func PathFor(exportPath string) string { return formats.JournalPath(exportPath) }

// PathForAll returns the path of the journal of a run with these exports, see Config.Exports. ok
// is false if none is a regular file: the journal then has a temporary name.
func PathForAll(exports []string) (path string, ok bool) {
	for _, e := range exports {
		if target, err := disk.Resolve(e); err == nil && e != "" && e != "-" && !disk.IsSpecial(e) {
			return PathFor(target), true
		}
	}
	return "", false
}

// defaultBacklogBytes is the default of Config.MaxBacklogBytes.
const defaultBacklogBytes = 32 << 20

// Config configures a Writer.
type Config struct {
	// Exports lists the files that Close writes, in this order; at least one. The journal
	// is in the folder of the first regular file, else in SpillDir.
	Exports []*Export
	// SpillDir is the folder to which the journal moves if it cannot be written further,
	// for instance because its disk is full; "" means the folder for temporary files.
	SpillDir string
	// Overwrite allows replacing a journal that a killed run left.
	Overwrite bool
	// MaxBacklogBytes bounds the bytes in memory that wait for the disk, see
	// [Writer.Backlog]; 0 means 32 MiB.
	MaxBacklogBytes int64
	// Warn, if not nil, gets a text when the journal moved or cannot be moved. Flush and
	// Close call it, at most once.
	Warn func(text string)
	// Examine, if not nil, reads the journal while Close writes the exports. Close calls
	// it in its own goroutine and waits for it. open opens the whole journal, with the
	// header of the exports.
	Examine func(open Open)
}

// An Open opens a journal for reading.
type Open func(ctx context.Context) (export.Reader, error)

// A Writer records a run in a journal, which survives the end of this process, and writes
// the exports from it when the run is over. It implements export.Writer and the optional
// methods of recorder.Config.Writer. Its methods are not for concurrent use.
type Writer struct {
	cfg Config
	ctx context.Context // ends when the run must end at once
	// timeToWrite is the function timeToWrite; tests replace it.
	timeToWrite func(journalBytes int64) time.Duration

	path     string            // of the journal
	private  bool              // the journal is in SpillDir from the start: only its owner may read it
	file     *os.File          // locked
	link     string            // leads from the first place of a journal that moved; "" if there is none
	queue    *diskQueue        // in front of file
	reserve  fdReserve         // for writing the exports
	space    diskReserve       // for the end of the journal
	journal  *recordlog.Writer // nil before the first level
	requests int               // number of requests written so far
	removed  bool              // the journal was removed, and has to move
	warned   bool              // Warn was called
	header   *export.Run       // as far as known when the first level begins
	written  []string          // paths of the complete exports
}

var _ export.Writer = (*Writer)(nil)

// NewWriter chooses the path of the journal. It returns a *FileError with the reason
// [ErrLeftover], [ErrBusy] or [ErrNotRegular] if the journal exists and is not empty.
// NewWriter writes nothing; Open creates the journal.
func NewWriter(cfg Config) (*Writer, error) {
	if err := checkExports(cfg.Exports); err != nil {
		return nil, err
	}
	if cfg.MaxBacklogBytes == 0 {
		cfg.MaxBacklogBytes = defaultBacklogBytes
	}
	if cfg.SpillDir == "" {
		cfg.SpillDir = os.TempDir()
	}
	w := &Writer{cfg: cfg, timeToWrite: timeToWrite, private: true}
	w.path = w.temporaryPath()
	for _, e := range cfg.Exports {
		if !e.inPlace {
			w.path, w.private = PathFor(e.target), false
			break
		}
	}
	if !isRegularOrMoved(w.path) {
		return nil, &FileError{w.path, ErrNotRegular}
	}
	f, err := os.Open(w.path)
	if err != nil {
		return w, nil // it does not exist, or Open will return the error
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case !lockFile(f):
		return nil, &FileError{w.path, ErrBusy}
	case err == nil && st.Size() == 0: // of a run that was killed before its first request
	case !cfg.Overwrite:
		return nil, &FileError{w.path, ErrLeftover}
	}
	return w, nil
}

// temporaryPath returns the path of a journal that cannot be in the folder of an export.
func (w *Writer) temporaryPath() string {
	return filepath.Join(w.cfg.SpillDir, fmt.Sprintf("pa-record-%d%s", os.Getpid(), Suffix))
}

// Path returns the path of the journal. Close may change it.
func (w *Writer) Path() string { return w.path }

// Written returns the paths of the exports that Close wrote, as given to NewExport.
func (w *Writer) Written() []string { return w.written }

// Open creates the journal, or empties one that may be overwritten. Until Close or
// Discard it holds a lock that keeps other runs away from the journal. Open repeats the
// checks of NewWriter and NewExport, because another run may have begun or ended since;
// their error is a *FileError, also for an export that is a pipe without a reader
// ([ErrNoReader]). Other errors are about the reserves.
//
// The Writer reads header when the first level begins. When ctx ends, the run must end
// at once: Close then writes the exports only if that takes at most 400 ms, or 250 ms when
// the journal is larger than 2 MiB.
func (w *Writer) Open(ctx context.Context, header *export.Run) error {
	w.ctx, w.header = ctx, header
	err := w.clearLink()
	var f *os.File
	if err == nil {
		f, err = takeFile(w.path, w.cfg.Overwrite, w.private)
	}
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, ErrLeftover):
		return &FileError{w.path, err}
	case err != nil:
		return &FileError{w.cfg.Exports[0].path, fmt.Errorf("its journal: %w", err)}
	}
	err = w.recheckExports()
	if err == nil {
		err = openExports(ctx, w.cfg.Exports, disk.Private)
	}
	if err == nil {
		w.reserve, err = newFDReserve(reservedFDs)
	}
	if err == nil {
		w.space, err = newDiskReserve(filepath.Dir(w.path))
	}
	if err != nil {
		w.reserve.release()
		closeExports(w.cfg.Exports)
		return errors.Join(err, disk.RemoveHeld(f, w.path))
	}
	w.file, w.queue = f, newDiskQueue(f, &mover{from: f, path: w.path, dir: w.cfg.SpillDir})
	return nil
}

// clearLink removes the link that a killed run left in the journal's place, and the journal
// that it leads to. It returns ErrBusy if another process writes that journal, and
// ErrLeftover if the journal has content and may not be overwritten.
func (w *Writer) clearLink() error {
	target, ok := movedTo(w.path)
	if !ok {
		return nil
	}
	f, err := os.Open(target)
	switch {
	case errors.Is(err, fs.ErrNotExist): // Recover was given the journal itself, or someone removed it
		return os.Remove(w.path)
	case err != nil:
		return err
	case !lockFile(f):
		return errors.Join(ErrBusy, f.Close())
	}
	if st, err := f.Stat(); err != nil || st.Size() > 0 && !w.cfg.Overwrite {
		return errors.Join(cmp.Or(err, ErrLeftover), f.Close())
	}
	return errors.Join(disk.RemoveHeld(f, target), os.Remove(w.path))
}

// recheckExports returns ErrExists for an export that another run wrote since NewExport.
func (w *Writer) recheckExports() error {
	for _, e := range w.cfg.Exports {
		if !e.inPlace && !e.overwrite && e.exists() {
			return &FileError{e.path, ErrExists}
		}
	}
	return nil
}

// Discard removes the journal and writes no export. Call it instead of Close after a run
// that sent nothing.
func (w *Writer) Discard() {
	w.reserve.release()
	w.space.release()
	closeExports(w.cfg.Exports)
	_ = w.queue.Close()
	w.follow()
	_ = w.remove()
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
	w.requests++
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
		w.journal, err = recordlog.NewWriter(w.queue, w.header)
	}
	return w.failed(err)
}

// Flush hands the recorded requests to the goroutine that writes them. It returns the
// first error of writing so far. recorder.Run calls Flush a few times a second.
func (w *Writer) Flush() error {
	if w.journal == nil {
		return nil
	}
	if err := w.queue.State().err; err != nil {
		return w.failed(err)
	}
	w.follow()
	if err := w.queue.State().stayed; err != nil {
		w.warn(fmt.Sprintf("journal %s: %v; the run continues and tries again at its end", w.path, err))
	}
	if !w.removed && w.queue.State().moved == nil && !disk.IsAt(w.file, w.path) {
		w.removed = true
		w.queue.Leave(errRemoved)
	}
	return w.failed(w.journal.Flush())
}

// follow makes the second file the Writer's file once the queue has moved, and leaves a link in
// the first place, so that the journal of a killed run is found.
func (w *Writer) follow() {
	m := w.queue.State().moved
	if m == nil || m.file == w.file {
		return
	}
	if disk.IsAt(w.file, w.path) {
		_ = disk.RemoveHeld(w.file, w.path) // its content is in the new file
	} else {
		_ = w.file.Close()
	}
	if target, err := filepath.Abs(m.path); err == nil && os.Symlink(target, w.path) == nil {
		w.link = w.path
	}
	text := fmt.Sprintf("%v; the recording continues in %s", diskError("journal "+w.path, m.cause), m.path)
	if m.lost > 0 {
		text += fmt.Sprintf("; requests lost: %d", m.lost)
	}
	w.space.release()
	w.file, w.path = m.file, m.path
	if r, err := newDiskReserve(w.cfg.SpillDir); err == nil { // without the reserve the journal ends as after a kill
		w.space = r
	}
	w.warn(text)
}

// warn calls Config.Warn, once.
func (w *Writer) warn(text string) {
	if !w.warned && w.cfg.Warn != nil {
		w.cfg.Warn(text)
	}
	w.warned = true
}

// restore moves a journal that was removed just before the end of the run, or that could
// not be moved before: to its second place, else to its first one.
func (w *Writer) restore() error {
	if w.queue.State().moved != nil || disk.IsAt(w.file, w.path) {
		return nil
	}
	err := w.queue.move(errRemoved)
	if err != nil {
		dir := filepath.Dir(w.path)
		w.queue.mover.dir = dir
		if again := errors.Join(os.MkdirAll(dir, 0o777), w.queue.move(errRemoved)); w.queue.State().moved == nil {
			return fmt.Errorf("journal %s: %w: %w", w.path, errRemoved, errors.Join(err, again))
		}
	}
	w.follow()
	return nil
}

// remove removes the journal, and the link to it.
func (w *Writer) remove() error {
	err := disk.RemoveHeld(w.file, w.path)
	if _, ok := movedTo(w.link); ok {
		err = errors.Join(err, os.Remove(w.link))
	}
	return err
}

// Backlog returns the number of recorded bytes that are not in the file yet, and how many
// may wait. A kill loses the waiting bytes. The Writer accepts more than room, so that
// requests in flight are not lost; recorder.Run drops outputs and then ends the run.
func (w *Writer) Backlog() (waiting, room int64) {
	waiting = w.queue.State().waiting
	if w.journal != nil {
		waiting += w.journal.Buffered()
	}
	return waiting, w.cfg.MaxBacklogBytes
}

func (w *Writer) failed(err error) error {
	if err != nil {
		return diskError("journal "+w.path, err)
	}
	return nil
}
