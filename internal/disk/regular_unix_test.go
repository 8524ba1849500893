//go:build unix

package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Special files are refused without being opened: nobody writes to the pipe, so opening
// it would wait for ever.
func TestOpenSpecial(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{pipe: "a named pipe", link: "a named pipe", socket: "a socket", dir: "a directory", "/dev/zero": "a device"} {
		var special *SpecialError
		if f, err := Open(path); !errors.As(err, &special) || special.Kind != kind || special.Path != path {
			t.Errorf("Open(%s) = %v, %v, want %s", path, f, err, kind)
		}
		if b, err := ReadFile(t.Context(), path, 10); !errors.As(err, &special) {
			t.Errorf("ReadFile(%s) = %q, %v", path, b, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(t.Context(), path, 10); err != nil || string(b) != "0123456789" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := ReadFile(t.Context(), path, 9); err == nil || !strings.Contains(err.Error(), "larger than 9 bytes") {
		t.Errorf("beyond the limit: %q, %v", b, err)
	}
}

// A descriptor that the process was given is read, up to the limit, and the end
// of the context ends the wait for more.
func TestReadFileStream(t *testing.T) {
	open := func() (path string, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		path = fmt.Sprintf("/dev/fd/%d", r.Fd())
		if _, err := os.Stat(path); err != nil {
			testenv.Lacks(t, "/dev/fd: %v", err)
		}
		return path, w
	}
	path, w := open()
	if _, err := w.WriteString("secret"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(t.Context(), path, 10); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	path, _ = open()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if b, err := ReadFile(ctx, path, 10); !errors.Is(err, why) {
		t.Errorf("%q, %v, want %v", b, err, why)
	}
}

func TestInheritedPath(t *testing.T) {
	for path, want := range map[string]int{
		"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/0": 0, "/dev/fd/63": 63, "/proc/self/fd/3": 3,
		"/dev/fd/": -1, "/dev/fd/x": -1, "/dev/zero": -1, "dev/fd/3": -1, "-": -1, "/dev/fd/3/x": -1,
	} {
		fd, ok := inherited(path)
		if !ok {
			fd = -1
		}
		if fd != want {
			t.Errorf("inherited(%q) is %d, want %d", path, fd, want)
		}
	}
}

// An error of a file that cannot be read names the file, the cause and what to do, and stays the error of the file system.
func TestUnreadable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing, below := filepath.Join(filepath.Dir(file), "none"), filepath.Join(file, "x")
	open := map[string]func(path string) error{
		"Open":       func(path string) error { _, err := Open(path); return err },
		"ReadFile":   func(path string) error { _, err := ReadFile(t.Context(), path, 9); return err },
		"OpenStream": func(path string) error { _, err := OpenStream(t.Context(), path); return err },
		"Unreadable": func(path string) error { _, err := os.Stat(path); return Unreadable(err) },
	}
	for name, f := range open {
		if err := f(missing); err == nil || err.Error() != missing+": no such file or directory; check the path" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if err := f(below); err == nil || err.Error() != below+": not a directory; check the path" || !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", name, err)
		}
	}
	denied := &fs.PathError{Op: "open", Path: "f", Err: syscall.EACCES}
	if err := Unreadable(denied); err.Error() != "f: permission denied; let this user read it (chmod), or run as its owner" || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if err := Unreadable(&fs.PathError{Op: "read", Path: "f", Err: syscall.EIO}); err.Error() != "f: input/output error" {
		t.Error(err)
	}
	if err := Unmade(&fs.PathError{Op: "mkdir", Path: "f", Err: syscall.ENOTDIR}); err.Error() != "the folder f cannot be made: not a directory; give another one" || !errors.Is(err, syscall.ENOTDIR) {
		t.Error(err)
	}
	for _, other := range []error{errors.New("x"), nil} {
		if got := []error{Unreadable(other), Unmade(other)}; !reflect.DeepEqual(got, []error{other, other}) {
			t.Errorf("an error without a path is changed: %v", got)
		}
	}
}
