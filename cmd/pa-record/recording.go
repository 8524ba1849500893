package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// newExports resolves paths. It refuses paths that cannot or must not be written, before
// any load is sent. Errors are of type *cmdline.UsageError.
func newExports(paths []string, overwrite bool) ([]*journal.Export, error) {
	var errs []error
	var all []*journal.Export
	for _, p := range paths {
		e, err := newExport(p, overwrite)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, e)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &cmdline.UsageError{Msg: err.Error(), NoHelp: true}
	}
	return all, nil
}

func newExport(path string, overwrite bool) (*journal.Export, error) {
	switch path {
	case "":
		return nil, errors.New("--profile-export-file: the name is empty")
	case "-":
		return nil, errors.New("--profile-export-file -: standard output is for the console report; give a file name")
	}
	e, err := journal.NewExport(path, overwrite)
	switch {
	case errors.Is(err, journal.ErrExists):
		return nil, fmt.Errorf("%s is there already; give --overwrite or another --profile-export-file", path)
	case err != nil:
		return nil, fmt.Errorf("--profile-export-file %w", err)
	}
	return e, nil
}

// A recording is the journal of a run with the words of this command: its errors name
// the flags that help. It also feeds the summary that is printed at the end.
type recording struct {
	*journal.Writer
	exports []*journal.Export
	place   string                 // of the journal, before it moves
	summary *runSummary            // nil: no figures are printed at the end
	judge   *figure.ObjectiveJudge // nil: the run has no objective
	warn    func(text string)      // prints a warning
	release func()                 // frees the context that open made
	kept    *openJournal           // gets the name of the journal; nil: nobody asks for it
	// loadEnds is called when everything is recorded, before the exports are written.
	loadEnds func()
}

// newRecording refuses a journal that is there already. The error is of type
// *cmdline.UsageError.
func newRecording(exports []*journal.Export, s *settings) (*recording, error) {
	r := &recording{exports: exports}
	var err error
	r.Writer, err = journal.NewWriter(journal.Config{
		Exports: exports, Overwrite: s.overwrite, SpillDir: s.spillDir,
		Warn: func(text string) { r.warn(text) },
		Examine: func(open journal.Open) {
			if r.summary != nil {
				r.summary.compute(open)
			}
		},
	})
	if err != nil {
		return nil, refusal(err)
	}
	r.place = r.Path()
	return r, nil
}

// open creates the journal. ctx ends with the second signal.
func (r *recording) open(ctx context.Context, header *export.Run) error {
	ctx, r.release = withCause(ctx, errSecondSignal)
	if err := r.Open(ctx, header); err != nil {
		r.release()
		return refusal(err)
	}
	r.kept.set(r.place)
	return nil
}

// An openJournal holds the name of the journal of the run under way, for the message of a
// program that ends before its run does. It is safe for concurrent use.
type openJournal struct {
	mu   sync.Mutex
	path string // "" for none
}

func (j *openJournal) set(path string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.path = path
}

// advice returns what a message says about the journal; "" if there is none.
func (j *openJournal) advice() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.path == "" {
		return ""
	}
	return fmt.Sprintf("; what was measured is kept in %s: %s writes the export", j.path, recoverCommandOf(j.path, nil))
}

// discard removes the journal of a run that sent nothing.
func (r *recording) discard() {
	r.Discard()
	r.kept.set("")
	r.release()
}

// WriteRequest implements export.Writer.
func (r *recording) WriteRequest(q *export.Request) error {
	if r.summary != nil {
		r.summary.add(q)
	}
	r.judge.Add(q)
	return r.Writer.WriteRequest(q)
}

// Close implements export.Writer.
func (r *recording) Close(run *export.Run) error {
	defer r.release()
	r.loadEnds()
	err := r.Writer.Close(run)
	if !errors.As(err, new(*journal.KeptError)) {
		r.kept.set("")
	}
	if r.Path() != r.place {
		return journalKept(err, r.exports)
	}
	return journalKept(err, nil)
}

// refusal adds to an error of a journal that cannot be opened which flags help. A file
// that is in the way gives a *cmdline.UsageError.
func refusal(err error) error {
	var fe *journal.FileError
	switch {
	case !errors.As(err, &fe):
		return err
	case errors.Is(fe, journal.ErrBusy):
		return cmdline.Refusedf("%s: another pa-record is writing it; give another --profile-export-file", fe.Path)
	case errors.Is(fe, journal.ErrLeftover):
		return cmdline.Refusedf("%s was left by a run that was killed; finish it with %s, or give --overwrite", fe.Path, recoverCommandOf(fe.Path, nil))
	case errors.Is(fe, journal.ErrNotRegular):
		return cmdline.Refusedf("%s: not a regular file; remove it, or give another --profile-export-file", fe.Path)
	case errors.Is(fe, journal.ErrNoReader):
		return cmdline.Refusedf("--profile-export-file %v", fe)
	case errors.Is(fe, journal.ErrExists):
		return cmdline.Refusedf("%s exists by now; give --overwrite or another --profile-export-file", fe.Path)
	}
	return fmt.Errorf("--profile-export-file %w", err)
}

// journalKept makes of an error that leaves the journal one line that also says what to
// do. It returns other errors as they are. elsewhere lists the exports of a journal that
// moved, which pa-record recover cannot know.
func journalKept(err error, elsewhere []*journal.Export) error {
	var kept *journal.KeptError
	if !errors.As(err, &kept) {
		return err
	}
	where := "there"
	if len(elsewhere) > 0 {
		where = "in " + filepath.Dir(elsewhere[0].Path())
	}
	advice := diskAdvice(err, where)
	if advice != "" {
		advice += ", then run "
	}
	return &keptError{fmt.Sprintf("%s: %s%s", oneLine(kept), advice, recoverCommandOf(kept.Path, elsewhere)), kept}
}

// recoverCommandOf returns the command that writes the exports of a journal, for a shell.
// elsewhere lists exports that do not lie beside it.
func recoverCommandOf(path string, elsewhere []*journal.Export) string {
	words := []string{"pa-record", "recover"}
	for _, e := range elsewhere {
		words = append(words, "--profile-export-file", sanitize.PathArgument(e.Path()))
	}
	return sanitize.Command(append(words, sanitize.PathArgument(path))...)
}

// A keptError is an error with a text of its own.
type keptError struct {
	text string
	err  error
}

func (e *keptError) Error() string { return e.text }
func (e *keptError) Unwrap() error { return e.err }

// diskAdvice returns what to do about an error of the file system in a folder; "" if there is no
// advice.
func diskAdvice(err error, where string) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "free space " + where
	case errors.Is(err, syscall.EDQUOT):
		return "free space " + where + ", or have the quota raised"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on file sizes (ulimit -f)"
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit on open files (ulimit -n)"
	}
	return ""
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// checkFiles refuses runs whose exports or journals cannot or must not be
// written. The error is of type *cmdline.UsageError.
func checkFiles(runs []plannedRun, s *settings) error {
	for i := range runs {
		if _, err := recordingOf(&runs[i], s); err != nil {
			return err
		}
	}
	return nil
}

// recordingOf returns the recording of a run. The error is of type
// *cmdline.UsageError.
func recordingOf(r *plannedRun, s *settings) (*recording, error) {
	exports, err := newExports(r.Exports, s.overwrite)
	if err != nil {
		return nil, err
	}
	return newRecording(exports, s)
}
