package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// partialSuffix ends the name of an export that is being written.
const partialSuffix = ".partial"

// An Export is one file to write from a journal. It is written under a temporary name and
// renamed when it is complete. A pipe or a device is written in place.
type Export struct {
	path      string // as given
	target    string // path with symbolic links resolved
	create    formats.Create
	inPlace   bool
	overwrite bool
}

// NewExport describes the export at path and writes nothing. The suffix of path chooses
// the format, see [formats.ForName]; a path without a suffix means JSON. overwrite allows
// replacing an existing file, which otherwise is an error with the reason [ErrExists].
// The error is a *FileError.
func NewExport(path string, overwrite bool) (*Export, error) {
	e := &Export{path: path, overwrite: overwrite}
	if err := e.check(); err != nil {
		return nil, &FileError{path, err}
	}
	return e, nil
}

func (e *Export) check() error {
	if e.path == "" {
		return errors.New("the name of an export is empty")
	}
	var known bool
	if e.create, known = formats.ForName(e.path); !known {
		e.create = formats.JSON // as perf_analyzer
	}
	e.target = targetOf(e.path)
	st, err := os.Stat(e.target)
	switch {
	case err == nil && st.IsDir():
		return errors.New("is a directory; give a file name")
	case err == nil && !st.Mode().IsRegular():
		e.inPlace = true
		return nil
	case !known && suffix(e.path) != "":
		return fmt.Errorf("%s is not an export format; use %s", suffix(e.path), formats.Suffixes)
	case err == nil && !e.overwrite:
		return ErrExists
	}
	return regular.CheckFolder(filepath.Dir(e.target))
}

// Path returns the path as given to [NewExport].
func (e *Export) Path() string { return e.path }

// same reports whether both exports are the same file, pipe or device.
func (e *Export) same(other *Export) bool { return e.target == other.target }

// checkExports returns an error for an empty list, and for a regular file that is in it twice.
func checkExports(exports []*Export) error {
	if len(exports) == 0 {
		return errors.New("a journal needs an export to be written from it")
	}
	for i, e := range exports {
		if !e.inPlace && slices.ContainsFunc(exports[:i], e.same) {
			return &FileError{e.path, errors.New("given twice")}
		}
	}
	return nil
}

// suffix returns the extension of a name if it could be a format, such as ".txt". It
// returns "" for a name such as llama-3.1, whose ".1" is part of the name.
func suffix(name string) string {
	const letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	ext := filepath.Ext(name)
	after := strings.ToLower(strings.TrimPrefix(ext, "."))
	if after == "" || strings.Trim(after, letters+digits) != "" || strings.Contains(digits, after[:1]) {
		return ""
	}
	return ext
}

// write writes the readable part of src to the file.
func (e *Export) write(ctx context.Context, src export.Reader) (err error) {
	name, flags := e.target+partialSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY
	if e.inPlace {
		name, flags = e.target, os.O_WRONLY
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(e.copyTo(ctx, f, src), f.Close()); err != nil {
		if !e.inPlace {
			err = errors.Join(err, os.Remove(name))
		}
		return diskError(e.path, err)
	}
	if e.inPlace {
		return nil
	}
	return os.Rename(name, e.target)
}

func (e *Export) copyTo(ctx context.Context, f *os.File, src export.Reader) error {
	buf := bufio.NewWriterSize(f, 1<<16)
	w, err := e.create(buf, answer.NewDeriver(src.Run()))
	if err != nil {
		return err
	}
	err = errors.Join(export.Copy(ctx, w, src), buf.Flush())
	if err == nil && !e.inPlace {
		err = f.Sync()
	}
	return err
}

// stem returns the name of an export without the suffixes of its format.
func stem(path string) string {
	for _, suffix := range []string{".gz", ".zst", ".json", ".parquet", ".arrow", ".csv"} {
		if strings.HasSuffix(strings.ToLower(path), suffix) && len(filepath.Base(path)) > len(suffix) {
			path = path[:len(path)-len(suffix)]
		}
	}
	return path
}
