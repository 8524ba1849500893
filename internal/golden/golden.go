package golden

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

// FS returns the content of testdata/golden/<name>.tar.zst in memory, rooted
// inside the archive's one top folder. It fails the test when the archive
// cannot be read.
func FS(tb testing.TB, name string) fs.FS {
	tb.Helper()
	path := filepath.Join(Root(tb), "testdata", "golden", name+".tar.zst")
	f, err := os.Open(path)
	if err != nil {
		tb.Fatalf("golden archive: %v", err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		tb.Fatalf("golden archive %s: %v", path, err)
	}
	defer z.Close()
	m := fstest.MapFS{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatalf("golden archive %s: %v", path, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(t)
		if err != nil {
			tb.Fatalf("golden archive %s: %s: %v", path, h.Name, err)
		}
		_, rel, _ := strings.Cut(h.Name, "/")
		m[rel] = &fstest.MapFile{Data: b, Mode: 0o644}
	}
	if len(m) == 0 {
		tb.Fatalf("golden archive %s: empty", path)
	}
	return m
}

// Root returns the module's folder: the nearest one above the working directory
// that holds go.mod.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the working directory")
		}
		dir = up
	}
}

// ProfileExports returns the exports of real perf_analyzer runs that hold
// something, by name, and the folder of all runs.
func ProfileExports(tb testing.TB) (map[string][]byte, fs.FS) {
	tb.Helper()
	fsys := FS(tb, "perf_analyzer")
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(p) != "profile_export.json" {
			return err
		}
		b, err := fs.ReadFile(fsys, p)
		if len(b) > 2 {
			files[path.Dir(p)] = b
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) < 100 {
		tb.Fatalf("%d golden exports, want 100 or more", len(files))
	}
	return files, fsys
}
