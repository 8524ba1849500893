//go:build unix

package disk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// A new file has its mode, for figures by the umask; a replaced file keeps its own.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	byUmask := filepath.Join(dir, "umask")
	if err := os.WriteFile(byUmask, nil, Figures); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(byUmask)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ old, perm, want fs.FileMode }{
		"default":              {0, 0, 0o600},
		"private":              {0, Private, 0o600},
		"figures":              {0, Figures, st.Mode().Perm()},
		"of the input":         {0, 0o664, 0o664},
		"a public one stays":   {0o666, Private, 0o666},
		"a private one stays":  {0o600, Figures, 0o600},
		"a shared one stays":   {0o640, Figures, 0o640},
		"a read-only one too":  {0o444, Private, 0o444},
		"of nobody but others": {0o604, Figures, 0o604},
	} {
		path := filepath.Join(dir, name)
		if tt.old != 0 {
			if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, tt.old)); err != nil {
				t.Fatal(err)
			}
		}
		err := Write(t.Context(), path, Options{Overwrite: tt.old != 0, Perm: tt.perm}, func(w io.Writer) error {
			partial, err := os.Stat(path + partialSuffix)
			if err != nil || partial.Mode().Perm()&^tt.want != 0 {
				t.Errorf("%s: the temporary file: %v, %v; want at most %v", name, partial, err, tt.want)
			}
			return put("new")(w)
		})
		st, serr := os.Stat(path)
		if err := errors.Join(err, serr); err != nil || st.Mode().Perm() != tt.want {
			t.Errorf("%s: %v, mode %v; want %v", name, err, st.Mode().Perm(), tt.want)
		}
	}
}

// A symbolic link is an existing file; overwriting it replaces the file behind it.
func TestLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		links [][2]string // name and target
		there bool        // the file exists
	}{
		"to a file":          {[][2]string{{"x", "sub/file"}}, true},
		"of a link":          {[][2]string{{"x", "sub/y"}, {"sub/y", "file"}}, true},
		"to nothing":         {[][2]string{{"x", "sub/file"}}, false},
		"of a dead link":     {[][2]string{{"x", "sub/y"}, {"sub/y", "../sub/file"}}, false},
		"in a linked folder": {[][2]string{{"x", "linked/y"}, {"linked", "sub"}, {"sub/y", "../sub/file"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, file := filepath.Join(dir, "x"), filepath.Join(dir, "sub", "file")
			err := os.Mkdir(filepath.Dir(file), 0o700)
			for _, l := range tt.links {
				err = errors.Join(err, os.Symlink(l[1], filepath.Join(dir, l[0])))
			}
			if tt.there {
				err = errors.Join(err, os.WriteFile(file, []byte("old"), 0o640))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckOutput(path, false); err == nil || !strings.Contains(err.Error(), "is there already") {
				t.Errorf("without overwrite: %v", err)
			}
			if err := Write(t.Context(), path, Options{Overwrite: true}, put("new")); err != nil {
				t.Fatal(err)
			}
			if to, err := os.Readlink(path); err != nil || to != tt.links[0][1] {
				t.Errorf("the link leads to %q, %v", to, err)
			}
			st, err := os.Lstat(file)
			if err != nil || !st.Mode().IsRegular() {
				t.Fatalf("the file: %v, %v", st, err)
			}
			if want := map[bool]fs.FileMode{true: 0o640, false: 0o600}[tt.there]; st.Mode().Perm() != want {
				t.Errorf("mode %v, want %v", st.Mode().Perm(), want)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != "new" {
				t.Errorf("the file holds %q, %v", b, err)
			}
		})
	}
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := CheckOutput(loop, true); err == nil {
		t.Error("a link to itself is accepted")
	}
}

// The files of killed processes are removed; files of living ones, of others and of other
// kinds are not.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	for _, name := range []string{partialName(path, 1), partialName(path, 2), partialName(path, 3), path + ".partial", dir + "/y.json" + partialSuffix} {
		if err := os.WriteFile(name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	living, err := os.Open(partialName(path, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if TryLock(living) != Held {
		testenv.Lacks(t, "locks of files")
	}
	if err := syscall.Mkfifo(partialName(path, 4), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), path, Options{}, put("new")); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "x.json x.json.2.pa-partial x.json.4.pa-partial x.json.partial y.json.pa-partial"; got != want {
		t.Errorf("left: %s\nwant: %s", got, want)
	}
}

// writerEnv makes the test's program a process that writes the path in it, see
// TestKilledWriter.
const writerEnv = "PA_TEST_WRITE"

// TestWriterProcess is the process that TestKilledWriter starts: it writes until its standard
// input ends.
func TestWriterProcess(t *testing.T) {
	path := os.Getenv(writerEnv)
	if path == "" {
		return // not started by TestKilledWriter
	}
	err := Write(t.Context(), path, Options{Overwrite: true}, func(w io.Writer) error {
		fmt.Println("writing")
		_, err := io.Copy(io.Discard, os.Stdin)
		return errors.Join(err, put("child")(w))
	})
	if err != nil {
		t.Error(err)
	}
}

// The file of a process that is killed is removed by the next write of the path, and the file
// of a living one is not.
func TestKilledWriter(t *testing.T) {
	for _, kill := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "x.json")
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriterProcess$")
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		stdin, stdout := testenv.Start(t, cmd)
		if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "writing\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if kill {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // says that it was killed
		}
		left, err := os.Stat(partialName(path, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(t.Context(), path, Options{}, put("parent")); err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(partialName(path, 1))
		if there := err == nil && os.SameFile(left, now); there == kill {
			t.Errorf("killed %v: the temporary file is there: %v", kill, there)
		}
		want := "parent"
		if !kill {
			want = "child"
			if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
				t.Error(err)
			}
		}
		b, err := os.ReadFile(path)
		if all, _ := os.ReadDir(filepath.Dir(path)); err != nil || string(b) != want || len(all) != 1 {
			t.Errorf("killed %v: the file holds %q, %v; files %v", kill, b, err, all)
		}
	}
}

// A pipe that no process reads is refused and not waited for.
func TestNoReader(t *testing.T) {
	path := testenv.Pipe(t, filepath.Join(t.TempDir(), "pipe"))
	if f, err := OpenOutput(t.Context(), path, Options{Overwrite: true}); !errors.Is(err, ErrNoReader) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("OpenOutput: %v, %v", f, err)
	}
	if err := Write(t.Context(), path, Options{Overwrite: true}, put("x")); !errors.Is(err, ErrNoReader) {
		t.Errorf("Write: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := Write(ctx, path, Options{Overwrite: true}, put("x")); !errors.Is(err, stop) {
		t.Errorf("Write after the end of its context: %v", err)
	}
}

// The reader of a pipe stays from Open on, and gets everything.
func TestPipe(t *testing.T) {
	path := testenv.Pipe(t, filepath.Join(t.TempDir(), "pipe"))
	got := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		got <- string(b)
	}()
	f, err := OpenOutput(t.Context(), path, Options{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789", 50_000) // more than a pipe holds
	if err := f.Write(t.Context(), put(text)); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != text {
		t.Errorf("%d bytes read, want %d", len(s), len(text))
	}
}

// A reader that reads no more does not keep Write after the end of its context.
func TestStalledReader(t *testing.T) {
	path := testenv.Pipe(t, filepath.Join(t.TempDir(), "pipe"))
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for the writer
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	ended := make(chan error, 1)
	go func() {
		ended <- Write(ctx, path, Options{Overwrite: true}, put(strings.Repeat("x", 1<<20)))
	}()
	if _, err := io.ReadFull(reader, make([]byte, 1)); err != nil { // and no more
		t.Fatal(err)
	}
	cancel(stop)
	select {
	case err := <-ended:
		if !errors.Is(err, stop) {
			t.Errorf("error %v, want %v", err, stop)
		}
	case <-time.After(20 * time.Second):
		t.Error("Write waits for the reader")
	}
	_ = reader.Close() // ends the goroutine that writes
}

// A descriptor of this process is written where it stands, also if it leads to a file.
func TestInherited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fd := fmt.Sprintf("/dev/fd/%d", file.Fd())
	if _, err := os.Stat(fd); err != nil {
		testenv.Lacks(t, "the folder /dev/fd: %v", err)
	}
	_, err = file.WriteString("one ")
	err = errors.Join(err, CheckOutput(fd, true), Write(t.Context(), fd, Options{Overwrite: true}, put("two ")))
	if _, werr := file.WriteString("three"); errors.Join(err, werr) != nil {
		t.Fatal(err, werr)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "one two three" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// Folders and sockets are refused, and a device is written in place.
func TestSpecial(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{dir: "is a directory; give a file name", socket: "is a socket"} {
		if err := CheckOutput(path, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if err := Write(t.Context(), os.DevNull, Options{Overwrite: true}, put("x")); err != nil {
		t.Errorf("a device: %v", err)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Errorf("%s: %v, %v", os.DevNull, st, err)
	}
}
