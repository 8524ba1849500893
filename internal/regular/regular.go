package regular

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// SpecialError says that a path names something else than a regular file.
type SpecialError struct {
	Path string
	Kind string // "a named pipe"
}

func (e *SpecialError) Error() string {
	return fmt.Sprintf("%s: is %s; expected a regular file", e.Path, e.Kind)
}

// Check returns a *SpecialError unless info, of the file at path, is of a regular
// file.
func Check(path string, info fs.FileInfo) error {
	kind := ""
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		kind = "a directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case m&fs.ModeSocket != 0:
		kind = "a socket"
	case m&fs.ModeDevice != 0:
		kind = "a device"
	default:
		kind = "a special file"
	}
	return &SpecialError{path, kind}
}

// stat is os.Stat with an error that says what was wanted: "open run.json: …".
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if cause := new(fs.PathError); errors.As(err, &cause) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: cause.Err}
	}
	return info, err
}

// Open opens a regular file for reading. The error is a *SpecialError for what is
// none, and wraps fs.ErrNotExist and the like.
func Open(path string) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := Check(path, info); err != nil {
		return nil, err
	}
	// The file may have been replaced by a pipe since: O_NONBLOCK does not wait
	// for the writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Check(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a regular file, or a stream that [IsStream] names, of at most
// maxBytes. The end of ctx ends the reading of a stream.
func ReadFile(ctx context.Context, path string, maxBytes int64) (data []byte, err error) {
	open := Open
	if IsStream(path) {
		open = os.Open
	}
	f, err := open(path)
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

// IsStream reports whether path names a descriptor that this process was started
// with: /dev/stdin, or /dev/fd/63 as a shell writes <(command).
func IsStream(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path))
	if path == "/dev/stdin" {
		return true
	}
	number, ok := strings.CutPrefix(path, "/dev/fd/")
	if !ok {
		number, ok = strings.CutPrefix(path, "/proc/self/fd/")
	}
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// OpenStream opens a regular file, a named pipe, or what [IsStream] names. A device
// is refused with a *SpecialError. The end of ctx ends the wait for the writer of a
// pipe; its cause is the error then.
func OpenStream(ctx context.Context, path string) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return os.Open(path)
	}
	if info.Mode()&fs.ModeNamedPipe == 0 && !IsStream(path) {
		return nil, Check(path, info)
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened)
	go func() {
		f, err := os.Open(path) // waits for a writer
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
