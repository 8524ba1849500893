package layout

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// The layout in docs/development.md has a room for every folder with Go files, and lists no folder twice. A line
// that is indented is about a folder within the last one that is not. Each package of a library
// begins with doc.go.
func TestLayout(t *testing.T) {
	root := os.DirFS("../..")
	text, err := fs.ReadFile(root, "docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	outer := ""
	for _, m := range regexp.MustCompile(`(?m)^    ( *)(\S+)/ `).FindAllStringSubmatch(string(text), -1) {
		dir := m[2]
		if m[1] == "" {
			outer = dir
		} else {
			dir = path.Join(outer, dir)
		}
		if listed[dir] {
			t.Errorf("docs/development.md lists %s/ twice", dir)
		}
		if listed[dir] = true; !isDir(root, dir) {
			t.Errorf("docs/development.md lists %s/, which is no folder", dir)
		}
	}
	found, documented := 0, map[string]bool{"internal/kserve": true} // generated
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() && name != "." && isFile(root, path.Join(name, "go.mod")):
			return fs.SkipDir // another module
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		found++
		room := path.Dir(name)
		for room != "." && !listed[room] {
			room = path.Dir(room)
		}
		if room == "." {
			t.Errorf("docs/development.md has no room for %s", name)
		}
		if dir := path.Dir(name); !documented[dir] && !isMain(t, root, name) && !isFile(root, path.Join(dir, "doc.go")) {
			t.Errorf("%s has no doc.go", dir)
			documented[dir] = true
		}
		return nil
	})
	if err != nil || found < 500 {
		t.Errorf("%d files of Go, %v: is this the root of the module?", found, err)
	}
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}

func isFile(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// isMain reports whether a file of Go belongs to a program.
func isMain(t *testing.T, fsys fs.FS, name string) bool {
	t.Helper()
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(text), "package main\n") || strings.Contains(string(text), "\npackage main\n")
}
