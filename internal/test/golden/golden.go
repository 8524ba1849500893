package golden

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

// opened holds the archives that tests of this process have asked for: tests of one package
// read the same archive dozens of times.
var opened struct {
	sync.Mutex
	archives map[string]fstest.MapFS
}

// content is the file system of an archive. Its ReadFile looks up one name. MapFS.ReadFile compares
// all names before it reports that a file is missing, and tests ask for thousands of missing files.
type content struct{ fstest.MapFS }

func (c content) ReadFile(name string) ([]byte, error) {
	f := c.MapFS[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(f.Data), nil
}

// FS returns the content of testdata/golden/<name>.tar.zst in memory, rooted
// inside the archive's one top folder. It fails the test when the archive
// cannot be read. All calls for an archive return the same file system, which tests must not
// change.
func FS(tb testing.TB, name string) fs.FS {
	tb.Helper()
	return content{archive(tb, name)}
}

// Each calls do for each file of an archive whose path in it, or whose name, matches the pattern, in the order of the
// paths. It ends the test if fewer than least do.
func Each(tb testing.TB, name, pattern string, least int, do func(file string, data []byte)) {
	tb.Helper()
	n := 0
	all := archive(tb, name)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		matched := file
		if !strings.Contains(pattern, "/") {
			matched = path.Base(file)
		}
		if ok, err := path.Match(pattern, matched); err != nil {
			tb.Fatal(err)
		} else if ok {
			n++
			do(file, bytes.Clone(all[file].Data))
		}
	}
	if n < least {
		tb.Fatalf("golden archive %s: %d files %s, want %d or more", name, n, pattern, least)
	}
}

// archive reads an archive when a test first asks for it.
func archive(tb testing.TB, name string) fstest.MapFS {
	tb.Helper()
	opened.Lock()
	defer opened.Unlock()
	m := opened.archives[name]
	if m == nil {
		m = read(tb, name)
		if opened.archives == nil {
			opened.archives = map[string]fstest.MapFS{}
		}
		opened.archives[name] = m
	}
	return m
}

// Unpack returns the content of a .zst file.
func Unpack(tb testing.TB, path string) []byte {
	tb.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	content, err := z.DecodeAll(packed, nil)
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return content
}

func read(tb testing.TB, name string) fstest.MapFS {
	tb.Helper()
	path := filepath.Join(Root(tb), "testdata", "golden", name+".tar.zst")
	m := fstest.MapFS{}
	for t := tar.NewReader(bytes.NewReader(Unpack(tb, path))); ; {
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

// File fails the test unless got is the content of the file at path. With update, it writes the
// file instead.
func File(tb testing.TB, path, got string, update bool) {
	tb.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if got != string(want) {
		tb.Errorf("%s differs; run with -update, and look at what it writes", path)
	}
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
	fsys := archive(tb, "perf_analyzer")
	files := map[string][]byte{}
	// A walk would look at every file for each folder.
	for p, f := range fsys {
		if path.Base(p) == "profile_export.json" && len(f.Data) > 2 { // neither empty nor {}
			files[path.Dir(p)] = bytes.Clone(f.Data)
		}
	}
	if len(files) < 100 {
		tb.Fatalf("%d golden exports, want 100 or more", len(files))
	}
	return files, content{fsys}
}

// FirstDifference shows two texts around the first byte in which they differ.
func FirstDifference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	lo := max(0, i-60)
	return "got …" + string(got[lo:min(len(got), i+60)]) + "…, want …" + string(want[lo:min(len(want), i+60)])
}
