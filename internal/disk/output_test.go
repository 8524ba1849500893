package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A failed write leaves the old file and no temporary one.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, werr := io.WriteString(w, s)
			return errors.Join(err, werr)
		}
	}
	if err := Write(t.Context(), path, Options{}, text("1", nil)); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), path, Options{}, text("2", nil)); err == nil {
		t.Error("an existing file is replaced without overwrite")
	}
	failed := errors.New("failed")
	if err := Write(t.Context(), path, Options{Overwrite: true}, text("3", failed)); !errors.Is(err, failed) {
		t.Errorf("error %v, want %v", err, failed)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "1" {
		t.Errorf("the file holds %q, %v; want 1", b, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%d files, %v; want 1", len(all), err)
	}
}

func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	for _, c := range []struct {
		content   string
		overwrite bool
		wrote     bool
		err       error
	}{{"1", false, true, nil}, {"1", false, false, nil}, {"2", false, false, ErrExists}, {"2", true, true, nil}} {
		if wrote, err := Update(t.Context(), path, []byte(c.content), c.overwrite); wrote != c.wrote || !errors.Is(err, c.err) {
			t.Errorf("Update(%q, %t) = %t, %v; want %t, %v", c.content, c.overwrite, wrote, err, c.wrote, c.err)
		}
	}
}

// A file that cannot be created is named, not the temporary file. The temporary name is
// longer than a file system allows, which also stops root.
func TestWriteNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("a", 250))
	err := Write(t.Context(), path, Options{}, func(io.Writer) error { return nil })
	if want := path + ": cannot create a file in the folder " + dir + ": "; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), filepath.Join(dir, ".a")) {
		t.Errorf("error %v, want %s…", err, want)
	}
}

// put returns a function that writes a text.
func put(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// CheckOutput and OpenOutput leave nothing, and say that a file cannot be created in a folder.
func TestOpenLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := CheckOutput(path, false); err != nil {
		t.Error(err)
	}
	f, err := OpenOutput(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 0 {
		t.Errorf("%d files, %v; want none", len(all), err)
	}
	if err := f.Write(t.Context(), put("1")); err != nil {
		t.Error(err)
	}
	long := filepath.Join(dir, strings.Repeat("a", 250))
	if err := CheckOutput(long, false); err == nil || !strings.Contains(err.Error(), "cannot create a file in the folder "+dir) {
		t.Errorf("CheckOutput: %v", err)
	}
	if _, err := OpenOutput(t.Context(), filepath.Join(dir, "no", "x"), Options{}); err == nil || !strings.Contains(err.Error(), "the folder "+filepath.Join(dir, "no")+" does not exist") {
		t.Errorf("OpenOutput: %v", err)
	}
}

// An ended context ends Write, and the old file stays.
func TestWriteInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := Write(t.Context(), path, Options{}, put("old")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	err := Write(ctx, path, Options{Overwrite: true}, func(w io.Writer) error {
		cancel(stop)
		return put("new")(w)
	})
	if b, _ := os.ReadFile(path); !errors.Is(err, stop) || string(b) != "old" {
		t.Errorf("error %v, the file holds %q", err, b)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%d files, %v; want 1", len(all), err)
	}
}

// Several processes that write one path at the same time: the file is one of theirs, whole.
func TestWriteAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	var writers sync.WaitGroup
	for i := range 8 {
		text := strings.Repeat(strconv.Itoa(i), 1000)
		writers.Go(func() {
			for range 20 {
				if err := Write(t.Context(), path, Options{Overwrite: true}, put(text)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 1000 || strings.Trim(string(b), string(b[:1])) != "" {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%d files, %v; want 1", len(all), err)
	}
}
