package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// partialSuffix marks an export that is being written. A file that keeps it is
// what a killed run left; pa-analyze reads it.
const partialSuffix = ".partial"

// An output is one export file: it is written under a temporary name and takes
// its own when it is whole. What is no regular file (a pipe, /dev/null) is
// written in place.
type output struct {
	path    string // as given
	target  string // behind symbolic links
	inPlace bool
	file    *os.File
	w       *profilejson.Writer
	whole   bool // it has its own name
}

// partial is the name of the file while it is written.
func (o *output) partial() string { return o.target + partialSuffix }

// newOutputs resolves paths, and refuses those that cannot or must not be
// written, before any load is sent. Errors are of type *cmdline.UsageError.
func newOutputs(paths []string, overwrite bool) (outputs, error) {
	var errs []error
	var all outputs
	for _, p := range paths {
		o, err := newOutput(p, overwrite)
		if err == nil && slices.ContainsFunc(all, func(other *output) bool { return other.target == o.target }) {
			err = fmt.Errorf("--profile-export-file %s: given twice", p)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, o)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &cmdline.UsageError{Msg: err.Error()}
	}
	return all, nil
}

func newOutput(p string, overwrite bool) (*output, error) {
	switch ext := strings.ToLower(filepath.Ext(p)); {
	case p == "":
		return nil, errors.New("--profile-export-file: the name is empty")
	case p == "-":
		return nil, errors.New("--profile-export-file -: standard output is for the console report; give a file name")
	case ext == ".parquet" || ext == ".arrow" || ext == ".gz" || ext == ".zst":
		return nil, fmt.Errorf("--profile-export-file %s: %s is not supported; the export is JSON, give a .json name", p, ext)
	}
	o := &output{path: p, target: filepath.Clean(p)}
	if t, err := filepath.EvalSymlinks(p); err == nil {
		o.target = t
	}
	st, err := os.Stat(o.target)
	switch {
	case err == nil && st.IsDir():
		return nil, fmt.Errorf("--profile-export-file %s: is a directory; give a file name", p)
	case err == nil && !st.Mode().IsRegular():
		o.inPlace = true
		return o, nil
	case err == nil && !overwrite:
		return nil, fmt.Errorf("%s is there already; give --overwrite or another --profile-export-file", p)
	}
	if _, err := os.Stat(filepath.Dir(o.target)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--profile-export-file %s: the folder %s does not exist", p, filepath.Dir(o.target))
	}
	return o, o.checkPartial(overwrite)
}

// checkPartial looks at a temporary file that is there before this run.
func (o *output) checkPartial(overwrite bool) error {
	f, err := os.Open(o.partial())
	if err != nil {
		return nil // none, or opening it for writing will say why not
	}
	defer f.Close()
	switch {
	case !lockFile(f):
		return fmt.Errorf("%s: another pa-record is writing it; give another --profile-export-file", o.path)
	case !overwrite:
		return fmt.Errorf("%s is there: a run that was killed left it; read it with pa-analyze and move it away, or give --overwrite", o.partial())
	}
	return nil
}

// open creates the file. It holds a lock, by which other runs know that it is
// being written.
func (o *output) open() error {
	name, flags := o.partial(), os.O_CREATE|os.O_EXCL|os.O_WRONLY
	if o.inPlace {
		name, flags = o.target, os.O_WRONLY
	} else if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: another pa-record is writing it; give another --profile-export-file", o.path)
	}
	if err != nil {
		return err
	}
	o.file, o.w = f, profilejson.NewWriter(f)
	if !o.inPlace && !lockFile(f) {
		return errors.Join(fmt.Errorf("%s: another pa-record is writing it; give another --profile-export-file", o.path), f.Close())
	}
	return nil
}

// outputs writes one run to several files. It is the recorder's
// export.Writer.
type outputs []*output

var _ export.Writer = outputs(nil)

// open creates all files.
func (o outputs) open() error {
	for i, out := range o {
		if err := out.open(); err != nil {
			o[:i].discard()
			return err
		}
	}
	return nil
}

// each calls f for every output and joins the errors, which name the file.
func (o outputs) each(f func(*output) error) error {
	var errs []error
	for _, out := range o {
		if err := f(out); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", out.path, err))
		}
	}
	return errors.Join(errs...)
}

// BeginExperiment implements export.Writer.
func (o outputs) BeginExperiment(mode, value string) error {
	return o.each(func(out *output) error { return out.w.BeginExperiment(mode, value) })
}

// WriteRequest implements export.Writer.
func (o outputs) WriteRequest(r *export.Request) error {
	return o.each(func(out *output) error { return out.w.WriteRequest(r) })
}

// EndExperiment implements export.Writer.
func (o outputs) EndExperiment(e *export.Experiment) error {
	return o.each(func(out *output) error { return out.w.EndExperiment(e) })
}

// Flush hands what was written so far to the operating system, so that it
// survives the end of this process.
func (o outputs) Flush() error {
	return o.each(func(out *output) error { return out.w.Flush() })
}

// Close completes the documents, forces them to disk and gives the files their
// names.
func (o outputs) Close(run *export.Run) error {
	return o.each(func(out *output) error {
		err := out.w.Close(run)
		if !out.inPlace {
			err = errors.Join(err, out.file.Sync())
		}
		err = errors.Join(err, out.file.Close())
		if err == nil && !out.inPlace {
			err = os.Rename(out.partial(), out.target)
		}
		if err != nil && !out.inPlace {
			return fmt.Errorf("%w; what was written is in %s", err, out.partial())
		}
		out.whole = err == nil
		return err
	})
}

// written lists the files that took their own names.
func (o outputs) written() []string {
	var paths []string
	for _, out := range o {
		if out.whole {
			paths = append(paths, out.path)
		}
	}
	return paths
}

// discard removes files to which nothing was written.
func (o outputs) discard() {
	for _, out := range o {
		_ = out.file.Close()
		if !out.inPlace {
			_ = os.Remove(out.partial())
		}
	}
}
