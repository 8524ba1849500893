package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// partialSuffix marks an export that is being written. A file that keeps it is
// what a killed run left; pa-analyze reads it.
const partialSuffix = ".partial"

// An output is one export file: it is written under a temporary name and takes
// its own when it is whole.
type output struct {
	path  string
	file  *os.File
	w     *profilejson.Writer
	whole bool // it has its own name
}

// checkOutputs refuses paths that cannot or must not be written, before any
// load is sent.
func checkOutputs(paths []string, overwrite bool) error {
	var errs []error
	seen := map[string]bool{}
	for _, p := range paths {
		switch ext := strings.ToLower(filepath.Ext(p)); {
		case p == "":
			errs = append(errs, errors.New("--profile-export-file: the name is empty"))
			continue
		case seen[filepath.Clean(p)]:
			errs = append(errs, fmt.Errorf("--profile-export-file %s: given twice", p))
			continue
		case ext == ".parquet" || ext == ".arrow" || ext == ".gz" || ext == ".zst":
			errs = append(errs, fmt.Errorf("--profile-export-file %s: %s is not supported; the export is JSON, give a .json name", p, ext))
			continue
		}
		seen[filepath.Clean(p)] = true
		st, err := os.Stat(p)
		switch {
		case err == nil && st.IsDir():
			errs = append(errs, fmt.Errorf("--profile-export-file %s: is a directory; give a file name", p))
		case err == nil && !overwrite:
			errs = append(errs, fmt.Errorf("%s is there already; give --overwrite or another --profile-export-file", p))
		}
		if _, err := os.Stat(p + partialSuffix); err == nil && !overwrite {
			errs = append(errs, fmt.Errorf("%s%s is there: a run that was killed left it; read it with pa-analyze and move it away, or give --overwrite", p, partialSuffix))
		}
		if _, err := os.Stat(filepath.Dir(p)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("--profile-export-file %s: the folder %s does not exist", p, filepath.Dir(p)))
		}
	}
	return errors.Join(errs...)
}

// outputs writes one run to several files. It is the recorder's
// export.Writer.
type outputs []*output

var _ export.Writer = outputs(nil)

// createOutputs opens the files of paths.
func createOutputs(paths []string) (outputs, error) {
	var all outputs
	for _, p := range paths {
		f, err := os.OpenFile(p+partialSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
		if err != nil {
			all.discard()
			return nil, err
		}
		all = append(all, &output{path: p, file: f, w: profilejson.NewWriter(f)})
	}
	return all, nil
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
		err := errors.Join(out.w.Close(run), out.file.Sync())
		if err = errors.Join(err, out.file.Close()); err != nil {
			return fmt.Errorf("%w; what was written is in %s%s", err, out.path, partialSuffix)
		}
		if err := os.Rename(out.path+partialSuffix, out.path); err != nil {
			return err
		}
		out.whole = true
		return nil
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
		_ = os.Remove(out.path + partialSuffix)
	}
}
