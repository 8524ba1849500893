package outfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pa-tools/pa/internal/regular"
)

// Check returns an error for a path that cannot be written, or that exists and must not
// be overwritten. Commands call it before they start their work.
func Check(path string, overwrite bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: is a directory; give a file name", path)
	case err == nil && !overwrite:
		return fmt.Errorf("%s: is there already; give --overwrite to replace it", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the folder %s does not exist", path, filepath.Dir(path))
	}
	return nil
}

// Write calls f with a temporary file, which takes the name path if f returns nil. It
// writes pipes and devices in place. Check's errors are returned, too.
func Write(path string, overwrite bool, f func(w io.Writer) error) (err error) {
	if err := Check(path, overwrite); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // a pipe, /dev/null
		return writeInPlace(path, f)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if pe := new(fs.PathError); errors.As(err, &pe) { // it names the temporary file
		return fmt.Errorf("%s: cannot create a file in the folder %s: %w; give another path", path, filepath.Dir(path), pe.Err)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	b := bufio.NewWriterSize(tmp, 1<<18)
	err = errors.Join(f(b), b.Flush(), tmp.Chmod(0o644), tmp.Sync())
	// Windows renames no file that is open.
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func writeInPlace(path string, f func(w io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}

// ErrExists says that Update kept a file with other content.
var ErrExists = errors.New("exists with other content and stays as it is (--overwrite replaces it)")

// Update writes content to path unless a file exists there and overwrite is false. It
// reports whether it wrote the file. An existing file with other content is ErrExists.
func Update(path string, content []byte, overwrite bool) (wrote bool, err error) {
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return false, regular.Check(path, info)
		}
		if old, err := os.ReadFile(path); !overwrite {
			if err != nil || !bytes.Equal(old, content) {
				return false, ErrExists
			}
			return false, nil
		}
	}
	err = Write(path, true, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	return err == nil, err
}
