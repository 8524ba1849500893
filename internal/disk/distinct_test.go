package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// Outputs that are inputs or other outputs are found by the identity of the files.
func TestDistinct(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"in", "other", "folder/in"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"link": "in", "link2": "link", "folderlink": "folder", "dangling": "new", "dangling2": at("dangling"), "intofolder": "nofolder/new",
		"loop": "loop", "m.r.csv": "in", "n.r.csv": "new", "null": os.DevNull,
	} {
		if err := os.Symlink(to, at(name)); err != nil {
			testenv.Lacks(t, "the right to make links: %v", err)
		}
	}
	if err := os.Link(at("in"), at("hardlink")); err != nil {
		t.Fatal(err)
	}
	models := func(f *Files, path string) {
		f.WritesSome("-f", "the CSV file for a model", at(path), func(name string) bool { return strings.HasSuffix(name, "."+path) })
	}
	const lost, twice = "which would be lost; give --out another file", "give each a file of its own"
	for _, tt := range []struct {
		name string
		fill func(f *Files)
		want string // "" for no error
	}{
		{"nothing", func(*Files) {}, ""},
		{"different files", func(f *Files) { f.Reads("--in", at("in")); f.Writes("--out", at("other")); f.Writes("--o", at("new")) }, ""},
		{"the same input twice", func(f *Files) { f.Reads("--in", at("in")); f.Reads("--i", at("in")) }, ""},
		{
			"the same path", func(f *Files) { f.Reads("--in", at("in")); f.Writes("--out", at("in")) },
			"--out " + at("in") + ": the same file as --in " + at("in") + ", " + lost,
		},
		{"the output first", func(f *Files) { f.Writes("--out", at("in")); f.Reads("--in", at("in")) }, lost},
		{"another spelling", func(f *Files) { f.Reads("--in", at("in")); f.Writes("--out", dir+"/./folder/../in") }, lost},
		{"a link to the input", func(f *Files) { f.Reads("--in", at("in")); f.Writes("--out", at("link2")) }, lost},
		{"the input by a link", func(f *Files) { f.Reads("--in", at("link2")); f.Writes("--out", at("in")) }, lost},
		{"a hard link", func(f *Files) { f.Reads("--in", at("in")); f.Writes("--out", at("hardlink")) }, lost},
		{"a link to the folder", func(f *Files) { f.Reads("--in", at("folder/in")); f.Writes("--out", at("folderlink/in")) }, lost},
		{"the same name in another folder", func(f *Files) { f.Reads("--in", at("folder/in")); f.Writes("--out", at("in")) }, ""},
		{"an input that does not exist", func(f *Files) { f.Reads("--in", at("new")); f.Writes("--out", at("new")) }, lost},

		{
			"two new outputs", func(f *Files) { f.Writes("--o", at("new")); f.Writes("--out", dir+"/./new") },
			"--out " + dir + "/./new: the same file as --o " + at("new") + "; " + twice,
		},
		{"two outputs, one link", func(f *Files) { f.Writes("--o", at("in")); f.Writes("--out", at("link")) }, twice},
		{"two outputs, hard links", func(f *Files) { f.Writes("--o", at("in")); f.Writes("--out", at("hardlink")) }, twice},
		{"a dangling link", func(f *Files) { f.Writes("--o", at("new")); f.Writes("--out", at("dangling")) }, twice},
		{"two dangling links", func(f *Files) { f.Writes("--o", at("dangling2")); f.Writes("--out", at("dangling")) }, twice},
		{"a folder that does not exist", func(f *Files) { f.Writes("--o", at("nofolder/new")); f.Writes("--out", at("nofolder/../nofolder/new")) }, twice},
		{"a link into it", func(f *Files) { f.Writes("--o", at("nofolder/new")); f.Writes("--out", at("intofolder")) }, twice},
		{"a new file in a linked folder", func(f *Files) { f.Writes("--o", at("folder/new")); f.Writes("--out", at("folderlink/new")) }, twice},
		{"another new file", func(f *Files) { f.Writes("--o", at("folder/new")); f.Writes("--out", at("new")) }, ""},
		{"a loop of links", func(f *Files) { f.Writes("--o", at("loop")); f.Writes("--out", at("loop")) }, twice},

		{"a device", func(f *Files) {
			f.Writes("--o", os.DevNull)
			f.Writes("--out", os.DevNull)
			f.Reads("--in", os.DevNull)
		}, ""},
		{"a link to a device", func(f *Files) { f.Writes("--o", at("null")); f.Writes("--out", os.DevNull) }, ""},
		{"standard streams", func(f *Files) {
			for _, path := range []string{"-", "", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/2"} {
				f.Writes("--o", path)
				f.Writes("--out", path)
			}
		}, ""},
		{"a folder", func(f *Files) { f.Writes("--o", at("folder")); f.Reads("--in", at("folder")) }, ""},

		{
			"a derived file", func(f *Files) { f.Reads("--in", at("in")); f.WritesFor("--out", "the journal", at("link")) },
			"the journal of --out, " + at("link") + ": the same file as --in " + at("in") + ", " + lost,
		},
		{
			"a file beside that exists", func(f *Files) { f.Reads("--in", at("in")); models(f, "r.csv") },
			"the CSV file for a model of -f, " + at("m.r.csv") + ": the same file as --in " + at("in") + ", which would be lost; give -f another file",
		},
		{"a file beside that leads to another output", func(f *Files) { f.Writes("--o", at("new")); models(f, "r.csv") }, twice},
		{"a file beside that is a new output", func(f *Files) { f.Writes("--o", at("x.r.csv")); models(f, "r.csv") }, twice},
		{"a file beside with another name", func(f *Files) { f.Writes("--o", at("x.csv")); f.Reads("--in", at("other")); models(f, "r.csv") }, ""},
		{"files beside files in a new folder", func(f *Files) { f.Writes("--o", at("nofolder/x.r.csv")); models(f, "r.csv") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f Files
			tt.fill(&f)
			err := f.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// An open file, such as standard input, is an input, too.
func TestDistinctOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var f Files
	f.ReadsOpen("standard input", file)
	if err := f.Check(); err != nil {
		t.Errorf("error %v without an output", err)
	}
	f.Writes("--out", path)
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "the same file as standard input") {
		t.Errorf("error %v, want one about standard input", err)
	}
}
