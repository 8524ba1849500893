package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// partialSuffix marks an export that is being written.
const partialSuffix = ".partial"

// An output is one export file. It is written from the journal at the end of
// the run, under a temporary name, and takes its own when it is whole. What is
// no regular file (a pipe, /dev/null) is written in place.
type output struct {
	path    string // as given
	target  string // behind symbolic links
	create  formats.Create
	inPlace bool
}

// newOutputs resolves paths, and refuses those that cannot or must not be
// written, before any load is sent. Errors are of type *cmdline.UsageError.
func newOutputs(paths []string, overwrite bool) ([]*output, error) {
	var errs []error
	var all []*output
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
		return nil, &cmdline.UsageError{Msg: err.Error(), NoHelp: true}
	}
	return all, nil
}

func newOutput(p string, overwrite bool) (*output, error) {
	switch p {
	case "":
		return nil, errors.New("--profile-export-file: the name is empty")
	case "-":
		return nil, errors.New("--profile-export-file -: standard output is for the console report; give a file name")
	}
	o := &output{path: p, target: filepath.Clean(p)}
	var known bool
	if o.create, known = formats.ForName(p); !known {
		o.create = formats.JSON // as perf_analyzer
	}
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
	case !known && suffix(p) != "":
		return nil, fmt.Errorf("--profile-export-file %s: %s is no format of an export; use %s", p, suffix(p), formats.Suffixes)
	case err == nil && !overwrite:
		return nil, fmt.Errorf("%s is there already; give --overwrite or another --profile-export-file", p)
	}
	if err := checkFolder(filepath.Dir(o.target)); err != nil {
		return nil, fmt.Errorf("--profile-export-file %s: %w", p, err)
	}
	return o, nil
}

// checkFolder returns an error if folder, in which a file will be written, does not
// exist or is not a folder.
func checkFolder(folder string) error {
	st, err := os.Stat(folder)
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s does not exist", folder)
	case errors.As(err, &pe):
		return fmt.Errorf("the folder %s: %w", folder, pe.Err)
	case err == nil && !st.IsDir():
		return fmt.Errorf("%s is a file, not a folder", folder)
	}
	return nil
}

// suffix returns what of a name looks like that of a format, ".txt", and not like
// a part of the name, as in llama-3.1; "" for none.
func suffix(name string) string {
	const letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	ext := filepath.Ext(name)
	after := strings.ToLower(strings.TrimPrefix(ext, "."))
	if after == "" || strings.Trim(after, letters+digits) != "" || strings.Contains(digits, after[:1]) {
		return ""
	}
	return ext
}

// write writes all of src that can be read to the file.
func (o *output) write(ctx context.Context, src export.Reader) (err error) {
	name, flags := o.target+partialSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY
	if o.inPlace {
		name, flags = o.target, os.O_WRONLY
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(o.copyTo(ctx, f, src), f.Close()); err != nil {
		if !o.inPlace {
			err = errors.Join(err, os.Remove(name))
		}
		return diskError(o.path, err)
	}
	if o.inPlace {
		return nil
	}
	return os.Rename(name, o.target)
}

func (o *output) copyTo(ctx context.Context, f *os.File, src export.Reader) error {
	buf := bufio.NewWriterSize(f, 1<<18)
	w, err := o.create(buf)
	if err != nil {
		return err
	}
	err = errors.Join(export.Copy(ctx, w, src), buf.Flush())
	if err == nil && !o.inPlace {
		err = f.Sync()
	}
	return err
}

// stem is the name of an export, or of the file of -f, without what tells its
// format.
func stem(path string) string {
	for _, suffix := range []string{".gz", ".zst", ".json", ".parquet", ".arrow", ".csv"} {
		if strings.HasSuffix(strings.ToLower(path), suffix) && len(filepath.Base(path)) > len(suffix) {
			path = path[:len(path)-len(suffix)]
		}
	}
	return path
}
