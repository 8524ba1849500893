package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
	"github.com/pa-tools/pa/pkg/recorder"
)

// Close completes the journal, writes the exports from it and removes it. If an export
// cannot be written, the journal stays and the error is a *KeptError. If the journal broke
// off, Close writes exports of its content and of the requests that are still in memory, and
// returns the journal's error. If the journal moved and another program had cut requests from it,
// the exports have a warning, and Close returns an error that counts the lost requests. A journal
// that cannot be read to its end stays.
func (w *Writer) Close(run *export.Run) error {
	defer closeExports(w.cfg.Exports)
	jerr := w.endJournal(run)
	gone := w.restore() // the journal has no path then, but can still be read
	w.reserve.release()
	w.space.release()
	jerr = errors.Join(jerr, gone)
	var edit func(*export.Run)
	if jerr != nil {
		edit = func(broken *export.Run) { // the journal lacks the end of the run
			experiments := broken.Experiments
			*broken = *run
			broken.Experiments = experiments
			if m := w.queue.State().moved; m != nil && m.lost > 0 && run.Meta != nil {
				meta := *run.Meta
				meta.Warnings = append(slices.Clip(meta.Warnings), m.note())
				broken.Meta = &meta
			}
		}
	}
	w.makeFolders()
	from := source{path: w.path}
	if jerr != nil {
		from = w.withRest(run)
	}
	if gone != nil {
		from.held, from.whole = w.file, w.queue.State().written.Bytes
	}
	waitForExamination := w.examine(from, edit)
	writing, release := outlive(w.ctx, w.timeToWrite(w.queue.State().written.Bytes))
	defer release()
	written, requests, damage, werr := finalize(writing, from, w.cfg.Exports, edit)
	waitForExamination() // it reads the journal
	w.written = written
	if werr != nil && writing.Err() != nil {
		werr, requests = context.Cause(writing), w.requests // finalize did not read them all
	}
	if werr != nil && gone == nil && from.requests > 0 {
		requests -= from.requests
		werr = errors.Join(werr, w.endLossy(run, from.requests))
	}
	var cut *cutError
	switch {
	case werr != nil && requests == 0 && errors.As(jerr, &cut):
		return fmt.Errorf("%w; no request could be kept", errors.Join(jerr, w.remove()))
	case werr != nil && requests == 0 && from.requests > 0:
		return fmt.Errorf("%w; no request could be kept", errors.Join(jerr, werr, w.remove()))
	case werr != nil && gone != nil:
		return fmt.Errorf("%w; requests lost: %d", errors.Join(jerr, werr, w.failed(w.file.Close())), w.requests)
	case werr != nil:
		return &KeptError{w.path, requests, errors.Join(jerr, werr, w.failed(w.file.Close()))}
	case damage != nil:
		return fmt.Errorf("%w; requests kept: %d, in %s; the journal is kept, too", errors.Join(jerr, damage, w.failed(w.file.Close())), requests, strings.Join(written, ", "))
	case jerr != nil:
		return fmt.Errorf("%w; requests kept: %d, in %s", errors.Join(jerr, w.remove()), requests, strings.Join(written, ", "))
	}
	if m := w.queue.State().moved; m != nil && m.lost > 0 {
		return fmt.Errorf("journal %s: %w; requests lost: %d; requests kept: %d, in %s", w.queue.mover.path, errors.Join(m.cause, w.remove()), m.lost, requests, strings.Join(written, ", "))
	}
	return w.remove()
}

// makeFolders makes the folders of the exports again if the journal moved: another program
// may have removed them. Writing an export says what is wrong with a folder.
func (w *Writer) makeFolders() {
	if w.queue.State().moved == nil {
		return
	}
	for _, e := range w.cfg.Exports {
		if !e.inPlace {
			_ = os.MkdirAll(filepath.Dir(e.target), 0o777)
		}
	}
}

// examine starts Config.Examine. wait waits for its end.
func (w *Writer) examine(from source, edit func(*export.Run)) (wait func()) {
	if w.cfg.Examine == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() { // wait waits for it
		defer close(done)
		w.cfg.Examine(func(ctx context.Context) (export.Reader, error) {
			r, err := openEdited(ctx, from, edit)
			if err != nil {
				return nil, err
			}
			return r, nil
		})
	}()
	return func() { <-done }
}

// endJournal writes the end of the journal and waits until the journal is on the disk.
func (w *Writer) endJournal(run *export.Run) error {
	err := w.begin()
	if err == nil && w.queue.State().moved == nil && !disk.IsAt(w.file, w.path) {
		w.queue.Leave(errRemoved)
	}
	if err == nil {
		_ = w.journal.Flush() // Close refuses a level that a failure did not let end
		err = w.failed(w.journal.Close(run))
	}
	qerr := w.queue.Close()
	w.follow()
	if qerr != nil { // the cause
		qerr = w.failed(qerr)
		w.breakOff(run, qerr)
		return qerr
	}
	select {
	case <-w.ctx.Done(): // the operating system writes it later
		return err
	case <-w.queue.synced:
	}
	if err == nil && w.ctx.Err() == nil {
		if err = w.queue.State().unsynced; err == nil {
			err = w.file.Sync()
		}
		err = w.failed(err)
	}
	return err
}

// breakOff writes the end of a journal whose writing failed with err. The end names err.
// If the disk does not take the end either, the journal reads like the journal of a
// killed run.
func (w *Writer) breakOff(run *export.Run, err error) {
	if _, known := endedEarly(run); !known && run.Meta != nil {
		run.Meta.Warnings = append(run.Meta.Warnings, recorder.EndedEarly+err.Error())
	}
	w.space.release()
	if cut, ok := errors.AsType[*cutError](err); ok {
		_ = w.cutTo(cut.bytes) // the rest reads like the journal of a killed run
		return
	}
	w.writeEnd(run)
}

// writeEnd cuts the journal's file after its last whole frame and writes the end of the journal there.
func (w *Writer) writeEnd(run *export.Run) {
	whole := w.queue.State().written
	if w.cutTo(whole.Bytes) != nil {
		return
	}
	end, err := recordlog.End(run)
	if err != nil || whole.Bytes == 0 {
		return
	}
	whole.Add(end, nil)
	if _, err := w.file.Write(end); err != nil {
		_ = w.cutTo(whole.Bytes - int64(len(end))) // readers leave out a part of a frame at the end
	}
}

// withRest returns the journal with the frames that its file could not take, which are in memory, and with the end of run.
func (w *Writer) withRest(run *export.Run) source {
	s := w.queue.State()
	from, all := source{path: w.path, whole: s.written.Bytes}, s.written
	from.tail = slices.Concat(s.rest...)
	if end, err := recordlog.End(run); len(from.tail) > 0 && err == nil {
		from.tail = append(from.tail, end...)
	}
	if cut := (*cutError)(nil); errors.As(s.err, &cut) {
		return source{path: w.path} // the frames in memory do not follow what is left of the file
	}
	all.Add(from.tail, nil)
	from.requests = all.Requests - s.written.Requests
	return from
}

// endLossy ends a journal that lacks n requests, which no export has either. It returns an error that counts them.
func (w *Writer) endLossy(run *export.Run, n int) error {
	err := fmt.Errorf("requests lost: %d", n)
	if run.Meta != nil {
		run.Meta.Warnings = append(run.Meta.Warnings, err.Error()+", because neither the journal nor an export could take them")
	}
	w.writeEnd(run)
	return err
}

// cutTo truncates the journal to size bytes and moves the write position to its end.
func (w *Writer) cutTo(size int64) error {
	if err := w.file.Truncate(size); err != nil {
		return err
	}
	_, err := w.file.Seek(size, io.SeekStart)
	return err
}

// endedEarly returns the error that ended a run; ok is false if none did.
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
