package disk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The modes of new files, see Options.Perm.
const (
	// Private is the mode of files that hold prompts, answers or single requests: only
	// their owner may read them.
	Private fs.FileMode = 0o600
	// Figures is the mode of reports, which hold figures only: the umask decides who may
	// read them.
	Figures fs.FileMode = 0o666
)

// Options say how an output is written.
type Options struct {
	// Overwrite allows replacing an existing file, which keeps its mode.
	Overwrite bool
	// Perm is the mode of a new file; 0 means Private. The umask restricts Figures; every
	// other mode is set as it is.
	Perm fs.FileMode
}

// CheckOutput returns an error for a path that cannot be written, or that exists and must not
// be overwritten. Commands call it before they start their work. It does not open pipes and
// devices.
func CheckOutput(path string, overwrite bool) error {
	p, err := find(path, overwrite)
	if err != nil || p.stream {
		return err
	}
	return p.probe(path)
}

// A place is where an output goes.
type place struct {
	target string      // the path with symbolic links followed
	old    fs.FileInfo // of the file that is there; nil if there is none
	stream bool        // old is written in place: a pipe, a device or an inherited descriptor
}

// find returns the place of an output. It returns an error for an output that exists and
// must not be overwritten, and for one that cannot be.
func find(path string, overwrite bool) (place, error) {
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return place{}, err
	}
	_, lerr := os.Lstat(path) // also finds a link that leads to nothing
	_, inherited := inherited(path)
	switch {
	case err == nil && info.IsDir():
		return place{}, &OutputError{path, errors.New("is a directory; give a file name")}
	case lerr == nil && !overwrite:
		return place{}, &OutputError{path, errors.New("is there already; give --overwrite to replace it")}
	case err == nil && (info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) != 0 || inherited):
		return place{target: path, old: info, stream: true}, nil
	case err == nil && !info.Mode().IsRegular():
		return place{}, checkRegular(path, info)
	}
	target, err := Resolve(path)
	if err == nil {
		err = CheckFolder(filepath.Dir(target))
	}
	if err != nil {
		return place{}, &OutputError{path, err}
	}
	return place{target: target, old: info}, nil
}

// probe returns the error of creating a file beside the place, and leaves none.
func (p place) probe(path string) error {
	f, err := p.create(path, Private)
	if err != nil {
		return err
	}
	return RemoveHeld(f, f.Name())
}

// create creates the temporary file of a place. path is the name for errors.
func (p place) create(path string, perm fs.FileMode) (*os.File, error) {
	f, err := createPartial(p.target, perm)
	if pe := new(fs.PathError); errors.As(err, &pe) { // it names the temporary file
		return nil, &OutputError{path, fmt.Errorf("cannot create a file in the folder %s: %w; give another path", filepath.Dir(p.target), pe.Err)}
	}
	return f, err
}

// maxLinks bounds how many symbolic links are followed, as Linux does.
const maxLinks = 40

// Resolve follows the symbolic links at path, also if they lead to a file that does not
// exist yet.
func Resolve(path string) (string, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target, nil
	}
	target := filepath.Clean(path)
	for range maxLinks {
		link, err := os.Readlink(target)
		if err != nil { // no link
			return target, nil
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(target))
			if err != nil {
				return "", err
			}
			link = filepath.Join(dir, link)
		}
		target = link
	}
	return "", errors.New("too many symbolic links")
}

// An Output is a file or a stream that was found to be writable before the work begins. A pipe or a
// device is open until Write or Close, so that its reader stays.
type Output struct {
	path   string
	opts   Options
	stream *os.File // nil: not open
}

// OpenOutput returns the output at path. It returns CheckOutput's errors and, for a pipe, an error that
// wraps [ErrNoReader] if no process opens it for reading within half a second.
func OpenOutput(ctx context.Context, path string, o Options) (*Output, error) {
	p, err := find(path, o.Overwrite)
	if err != nil {
		return nil, err
	}
	f := &Output{path: path, opts: o}
	if p.stream {
		f.stream, err = openStream(ctx, path)
	} else {
		err = p.probe(path)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes a pipe or a device that was not written.
func (f *Output) Close() error {
	if f == nil || f.stream == nil {
		return nil
	}
	defer func() { f.stream = nil }()
	return f.stream.Close()
}

// Write calls write, whose output takes the place of the path if write returns nil. A pipe
// or a device gets it at once. OpenOutput's errors are returned, too. When ctx ends, Write returns
// the cause at once, and the file stays as it was.
func (f *Output) Write(ctx context.Context, write func(w io.Writer) error) error {
	if f.stream == nil {
		p, err := find(f.path, f.opts.Overwrite)
		if err != nil {
			return err
		}
		if !p.stream {
			return f.replace(ctx, p, write)
		}
		if f.stream, err = openStream(ctx, f.path); err != nil {
			return err
		}
	}
	b := bufio.NewWriterSize(&interruptibleWriter{ctx: ctx, path: f.path, dst: f.stream}, 1<<16)
	err := write(b)
	if flushed := b.Flush(); err == nil {
		err = flushed
	}
	return errors.Join(err, f.Close())
}

// replace writes a regular file.
func (f *Output) replace(ctx context.Context, p place, write func(w io.Writer) error) error {
	perm := f.opts.Perm
	if perm == 0 {
		perm = Private
	}
	exact := perm != Figures
	if p.old != nil {
		perm, exact = p.old.Mode().Perm(), true
	}
	tmp, err := p.create(f.path, perm)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(&interruptibleWriter{ctx: ctx, path: f.path, dst: tmp}, 1<<18)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err == nil && exact {
		_ = tmp.Chmod(perm) // the umask may have restricted it; fails on a file system without modes, such as FAT
	}
	if err == nil {
		_, err = interruptibly(ctx, func() (int, error) { return 0, tmp.Sync() })
		err = named(f.path, err)
	}
	if err != nil {
		return errors.Join(err, RemoveHeld(tmp, tmp.Name()))
	}
	return named(f.path, renameHeld(tmp, p.target))
}

// An OutputError names an output that cannot be written.
type OutputError struct {
	Path string // as given
	Err  error
}

func (e *OutputError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *OutputError) Unwrap() error { return e.Err }

// named makes an error of the file system, which may name a temporary file, one of path.
func named(path string, err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &le):
		return &OutputError{path, le.Err}
	case errors.As(err, &pe):
		return &OutputError{path, pe.Err}
	}
	return err
}

// Write writes the output at path as [Output.Write] does.
func Write(ctx context.Context, path string, o Options, write func(w io.Writer) error) error {
	f := &Output{path: path, opts: o}
	return f.Write(ctx, write)
}

// ErrExists says that Update kept a file with other content.
var ErrExists = errors.New("exists with other content and stays as it is (--overwrite replaces it)")

// Update writes content, which holds figures only, to path unless a file exists there and
// overwrite is false. It reports whether it wrote the file. An existing file with other
// content is ErrExists.
func Update(ctx context.Context, path string, content []byte, overwrite bool) (wrote bool, err error) {
	if _, err := os.Lstat(path); err == nil && !overwrite {
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			return false, checkRegular(path, info)
		}
		if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, content) {
			return false, ErrExists
		}
		return false, nil
	}
	err = Write(ctx, path, Options{Overwrite: overwrite, Perm: Figures}, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	return err == nil, err
}

// CheckFolder returns an error if folder, in which a file will be written, does not
// exist or is not a folder.
func CheckFolder(folder string) error {
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
