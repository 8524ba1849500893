package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// An Export is one file to write from a journal, see package disk. Only the owner may read
// a new one. A pipe or a device is written in place.
type Export struct {
	path      string // as given
	target    string // path with symbolic links resolved
	create    formats.Create
	inPlace   bool
	overwrite bool
	file      *disk.Output // set by open
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
	st, err := os.Stat(e.path)
	if e.inPlace = disk.IsSpecial(e.path); !e.inPlace {
		target, err := disk.Resolve(e.path)
		if err != nil {
			return err
		}
		e.target = target
	}
	switch {
	case err == nil && st.IsDir():
		return errors.New("is a directory; give a file name")
	case err == nil && st.Mode()&fs.ModeSocket != 0:
		return errors.New("is a socket; give a file name")
	case e.inPlace:
		return nil
	case !known && suffix(e.path) != "":
		return fmt.Errorf("%s is not an export format; use %s", suffix(e.path), formats.Suffixes)
	case !e.overwrite && e.exists():
		return ErrExists
	}
	return disk.CheckFolder(filepath.Dir(e.target))
}

// exists reports whether there is a file, or a symbolic link, which may lead to nothing.
func (e *Export) exists() bool {
	_, err := os.Lstat(e.path)
	return err == nil
}

// Path returns the path as given to [NewExport].
func (e *Export) Path() string { return e.path }

// checkExports returns an error for an empty list, and for a regular file that is in it twice.
func checkExports(exports []*Export) error {
	if len(exports) == 0 {
		return errors.New("a journal needs an export to be written from it")
	}
	for i, e := range exports {
		if !e.inPlace && slices.ContainsFunc(exports[:i], func(other *Export) bool { return other.target == e.target }) {
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

// openExports finds out whether the exports can be written, and opens pipes and devices, so
// that their readers stay until the export is written. A new file gets the mode perm. The
// error is a *FileError.
func openExports(ctx context.Context, exports []*Export, perm fs.FileMode) error {
	for _, e := range exports {
		var err error
		if e.file, err = disk.OpenOutput(ctx, e.path, disk.Options{Overwrite: e.overwrite || e.inPlace, Perm: perm}); err != nil {
			closeExports(exports)
			return &FileError{e.path, withoutName(err)}
		}
	}
	return nil
}

// closeExports closes the pipes and devices that were not written.
func closeExports(exports []*Export) {
	for _, e := range exports {
		_ = e.file.Close()
	}
}

// write writes the readable part of src to the file.
func (e *Export) write(ctx context.Context, src export.Reader) error {
	err := e.file.Write(ctx, func(out io.Writer) error {
		w, err := e.create(out, answer.NewDeriver(src.Run()))
		if err != nil {
			return err
		}
		return export.Copy(ctx, w, src)
	})
	if err != nil {
		return diskError(e.path, err)
	}
	return nil
}
