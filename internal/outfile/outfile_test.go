package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	if err := Write(path, false, text("1", nil)); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, false, text("2", nil)); err == nil {
		t.Error("an existing file is replaced without overwrite")
	}
	failed := errors.New("failed")
	if err := Write(path, true, text("3", failed)); !errors.Is(err, failed) {
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
		if wrote, err := Update(path, []byte(c.content), c.overwrite); wrote != c.wrote || !errors.Is(err, c.err) {
			t.Errorf("Update(%q, %t) = %t, %v; want %t, %v", c.content, c.overwrite, wrote, err, c.wrote, c.err)
		}
	}
}

// A file that cannot be created is named, not the temporary file. The temporary name is
// longer than a file system allows, which also stops root.
func TestWriteNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("a", 250))
	err := Write(path, false, func(io.Writer) error { return nil })
	if want := path + ": cannot create a file in the folder " + dir + ": "; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), filepath.Join(dir, ".a")) {
		t.Errorf("error %v, want %s…", err, want)
	}
}
