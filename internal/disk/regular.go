package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// SpecialError reports that a path does not name a regular file.
type SpecialError struct {
	Path string
	Kind string // "a named pipe"
}

func (e *SpecialError) Error() string {
	return fmt.Sprintf("%s: is %s; expected a regular file", e.Path, e.Kind)
}

// checkRegular returns a *SpecialError unless info describes a regular file. path is the
// name for the error.
func checkRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &SpecialError{path, Kind(info.Mode())}
}

// Kind names what a file is that is not regular: "a named pipe".
func Kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// IsSpecial reports whether path leads to a pipe, a device, a folder or another file that is not
// regular, or names a descriptor, see inherited. A path that leads to nothing is not special.
func IsSpecial(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (!info.Mode().IsRegular() || isInherited(path))
}

// An InputError names a file that cannot be read, and says what to do. It wraps the *[fs.PathError].
type InputError struct{ cause *fs.PathError }

func (e *InputError) Error() string {
	text := e.cause.Path + ": " + e.cause.Err.Error()
	switch {
	case errors.Is(e.cause, fs.ErrNotExist), errors.Is(e.cause, syscall.ENOTDIR):
		return text + "; check the path"
	case errors.Is(e.cause, fs.ErrPermission):
		return text + "; let this user read it (chmod), or run as its owner"
	}
	return text
}

// Unwrap returns the error of the file system.
func (e *InputError) Unwrap() error { return e.cause }

// Unreadable returns the *InputError for an error of the file system, and other errors as they are.
func Unreadable(err error) error {
	if cause := new(fs.PathError); errors.As(err, &cause) {
		return &InputError{cause}
	}
	return err
}

// Unmade returns the error for a folder that cannot be made, with what to do.
func Unmade(err error) error {
	if cause := new(fs.PathError); errors.As(err, &cause) {
		return fmt.Errorf("the folder %s cannot be made: %w; give another one", cause.Path, cause.Err)
	}
	return err
}

// stat is os.Stat with an *InputError.
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	return info, Unreadable(err)
}

// open is os.Open with an *InputError.
func open(path string) (*os.File, error) {
	f, err := os.Open(path)
	return f, Unreadable(err)
}

// Open opens a regular file for reading. It returns a *SpecialError for other kinds
// of files, and an *InputError.
func Open(path string) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	// The file may have been replaced by a pipe since: O_NONBLOCK does not wait
	// for the writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Unreadable(err)
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a regular file, or a stream that inherited accepts, of at most
// maxBytes. When ctx ends, ReadFile stops reading a stream and returns the cause.
func ReadFile(ctx context.Context, path string, maxBytes int64) (data []byte, err error) {
	opened := Open
	if isInherited(path) {
		opened = open
	}
	f, err := opened(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	data, err = io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read %s: %w", path, context.Cause(ctx))
	case err != nil:
		return nil, err
	case int64(len(data)) > maxBytes:
		return nil, fmt.Errorf("%s: is larger than %d bytes", path, maxBytes)
	}
	return data, nil
}

// inherited returns the file descriptor of this process that path names: /dev/stdin, /dev/stdout,
// /dev/stderr, or /dev/fd/63 for a shell's <(command) or >(command).
func inherited(path string) (fd int, ok bool) {
	path = filepath.ToSlash(filepath.Clean(path))
	if fd = slices.Index([]string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}, path); fd >= 0 {
		return fd, true
	}
	number, ok := strings.CutPrefix(path, "/dev/fd/")
	if !ok {
		number, ok = strings.CutPrefix(path, "/proc/self/fd/")
	}
	if !ok || strings.Trim(number, "0123456789") != "" {
		return 0, false
	}
	fd, err := strconv.Atoi(number)
	return fd, err == nil
}

// isInherited reports whether path names a descriptor, see inherited.
func isInherited(path string) bool {
	_, ok := inherited(path)
	return ok
}

// OpenStream opens a regular file, a named pipe, or a stream that inherited
// accepts. For a device it returns a *SpecialError. If ctx ends while OpenStream
// waits for the writer of a pipe, it returns the cause of ctx.
func OpenStream(ctx context.Context, path string) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return open(path)
	}
	if info.Mode()&fs.ModeNamedPipe == 0 && !isInherited(path) {
		return nil, checkRegular(path, info)
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened)
	go func() {
		f, err := open(path) // waits for a writer
		select {
		case done <- opened{f, err}:
		case <-ctx.Done():
			if err == nil {
				_ = f.Close()
			}
		}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-ctx.Done():
		// A writer ends the wait of the goroutine.
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = w.Close()
		}
		return nil, fmt.Errorf("open %s: %w", path, context.Cause(ctx))
	}
}
