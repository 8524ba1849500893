package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pa-tools/pa/"

// layers lists the trees of packages from the bottom up, each with the trees that it
// may import beside itself. analyze and recorder never import each other; pa, which embeds both, is
// imported by neither.
var layers = []struct {
	tree string
	uses []string
}{
	{"internal", nil},
	{"pkg/tokenizer", []string{"internal"}},
	{"pkg/export", []string{"internal"}},
	{"pkg/wire", []string{"internal", "pkg/export"}},
	{"pkg/sim", []string{"internal", "pkg/wire"}},
	{"pkg/answer", []string{"internal", "pkg/export", "pkg/wire"}},
	{"pkg/recorder", []string{"internal", "pkg/export", "pkg/wire", "pkg/answer"}},
	{"pkg/analyze", []string{"internal", "pkg/export", "pkg/wire", "pkg/answer"}},
	{"pkg/tool", []string{"internal", "pkg/export", "pkg/wire", "pkg/answer", "pkg/analyze"}},
	{"pkg/pa", []string{"internal", "pkg/export", "pkg/wire", "pkg/answer", "pkg/recorder", "pkg/analyze", "pkg/tool"}},
	{"cmd", []string{"internal", "pkg/tokenizer", "pkg/export", "pkg/wire", "pkg/sim", "pkg/answer", "pkg/recorder", "pkg/analyze", "pkg/tool"}},
}

// isTestHelper reports whether only tests, the programs of test and other helpers import a package. A helper may
// import any package of the lower layers.
func isTestHelper(pkg string) bool {
	return within(pkg, "internal/test")
}

// withoutHTTP are trees that import net/http nowhere: the analysis of recordings, and what it
// imports. The linker takes a third longer for a test with net/http.
var withoutHTTP = []string{"pkg/tool", "pkg/analyze", "pkg/answer", "pkg/wire", "pkg/export"}

// withoutArrow are trees in which no file, not even of a test, imports a package of arrowPackages:
// the linker takes twice as long for a test with Arrow. Tests of the analysis that need a Parquet
// file belong to cmd/pa-analyze.
var withoutArrow = []string{"pkg/tool", "pkg/analyze", "pkg/answer", "pkg/wire", "pkg/export/shards", "internal/test/memrun", "internal/test/runtest"}

// arrowPackages are the package that imports Arrow, and packages that import this package,
// directly or not.
var arrowPackages = []string{"pkg/export/columnar", "pkg/export/formats", "internal/test/exporttest"}

// commandHelpers are packages of internal that only the commands import.
var commandHelpers = []string{"internal/cmdline"}

// rows lists the packages of a tree from the bottom up, by name or pattern. A package may import the packages
// of its tree that stand in lower rows.
var rows = map[string][][]string{
	"pkg/export": {
		{"pkg/export", "pkg/export/columnar/internal/pages"},
		{"pkg/export/pawindow", "pkg/export/shards"},
		{"pkg/export/profilejson"},
		{"pkg/export/columnar", "pkg/export/recordlog"},
		{"pkg/export/formats"},
	},
	"pkg/recorder": {
		{
			"pkg/recorder/backend/openai/internal/evloop", "pkg/recorder/backend/openai/internal/http1",
			"pkg/recorder/load", "pkg/recorder/rxclock",
			"pkg/recorder/ranks", "pkg/recorder/workload",
		},
		{"pkg/recorder/backend", "pkg/recorder/window", "pkg/recorder/workload/dataset", "pkg/recorder/workload/render", "pkg/recorder/workload/synth"},
		{"pkg/recorder/observe"},
		{"pkg/recorder/backend/kserve", "pkg/recorder/backend/openai", "pkg/recorder/internal/drive"},
		{"pkg/recorder/backend/realtime"},
		{"pkg/recorder"},
		{"pkg/recorder/calibrate", "pkg/recorder/forecast", "pkg/recorder/journal", "pkg/recorder/scenario"},
	},
	"pkg/analyze": {
		{"pkg/analyze/expr", "pkg/analyze/inference", "pkg/analyze/levelpair", "pkg/analyze/promptcache", "pkg/analyze/quality", "pkg/analyze/serverfigures", "pkg/analyze/sheet", "pkg/analyze/summary", "pkg/analyze/svg"},
		{"pkg/analyze/stated"},
		{"pkg/analyze/figure"},
		{"pkg/analyze"},
		{"pkg/analyze/explain", "pkg/analyze/view"},
		{"pkg/analyze/sql"},
		{"pkg/analyze/report"},
		{"pkg/analyze/publish", "pkg/analyze/trace"},
		{"pkg/analyze/diff"},
		{"pkg/analyze/check", "pkg/analyze/pareto", "pkg/analyze/rig", "pkg/analyze/trend"},
		{"pkg/analyze/plot"},
		{"pkg/analyze/page"},
	},
	"pkg/tool": {
		{"pkg/tool/dialect", "pkg/tool/internal/resultfile"},
		{"pkg/tool/*"}, // a room for each tool
		{"pkg/tool"},
	},
}

// rowOf returns the number of a package's row in its tree; -1 if it is in none.
func rowOf(tree, pkg string) int {
	return slices.IndexFunc(rows[tree], func(row []string) bool {
		return slices.ContainsFunc(row, func(pattern string) bool {
			ok, err := path.Match(pattern, pkg)
			return ok && err == nil
		})
	})
}

// within reports whether a package is a tree's root or inside it.
func within(pkg, tree string) bool { return pkg == tree || strings.HasPrefix(pkg, tree+"/") }

// wrongImport returns what is wrong with an import of to by from, both without the
// module's path; "" if the layers allow it.
func wrongImport(from, to string) string {
	switch {
	case isTestHelper(from):
		if within(to, "cmd") {
			return "imports a command"
		}
		return ""
	case isTestHelper(to) && !within(from, "test"):
		return "imports a helper of tests"
	case slices.Contains(commandHelpers, to) && !within(from, "cmd"):
		return "imports a helper of the commands"
	}
	for _, l := range layers {
		if !within(from, l.tree) {
			continue
		}
		if within(to, l.tree) && rows[l.tree] != nil {
			switch at := rowOf(l.tree, from); {
			case at < 0:
				return "is in no row of " + l.tree
			case at <= rowOf(l.tree, to):
				return "imports a package of a higher row, or of its own"
			}
		}
		if within(to, l.tree) || slices.ContainsFunc(l.uses, func(tree string) bool { return within(to, tree) }) {
			return ""
		}
		return "imports a higher layer, or one beside it"
	}
	return "is in no layer"
}

// Each file of Go outside tests imports only what the layers allow.
func TestLayers(t *testing.T) {
	root := os.DirFS("../..")
	imports := 0
	for _, top := range []string{"cmd", "pkg", "internal"} {
		err := fs.WalkDir(root, top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || isFile(root, path.Join(name, "go.mod"))):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, s := range f.Imports {
				imported, err := strconv.Unquote(s.Path.Value)
				if err != nil {
					return err
				}
				if imported == "net/http" && slices.ContainsFunc(withoutHTTP, func(tree string) bool { return within(name, tree) }) {
					t.Errorf("%s imports net/http; wire/openai.StatusText has its reason phrases", name)
				}
				to, ours := strings.CutPrefix(imported, module)
				if !ours {
					continue
				}
				imports++
				if wrong := wrongImport(path.Dir(name), to); wrong != "" {
					t.Errorf("%s %s: %s", name, wrong, to)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if imports < 500 {
		t.Errorf("%d imports of packages of this module: is this its root?", imports)
	}
}

// No file in the trees withoutArrow, not even of a test, imports a package of arrowPackages.
func TestWithoutArrow(t *testing.T) {
	root := os.DirFS("../..")
	files := 0
	for _, tree := range withoutArrow {
		err := fs.WalkDir(root, tree, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			files++
			for _, s := range f.Imports {
				imported, err := strconv.Unquote(s.Path.Value)
				if err != nil {
					return err
				}
				if slices.Contains(arrowPackages, strings.TrimPrefix(imported, module)) {
					t.Errorf("%s imports %s; a test that needs it belongs to cmd/pa-analyze", name, imported)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 200 {
		t.Errorf("%d files: is this the root of the module?", files)
	}
}

// The layers forbid the imports that they are there for.
func TestWrongImport(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"pkg/analyze/report", "pkg/analyze", true},
		{"pkg/analyze", "pkg/answer", true},
		{"pkg/recorder", "pkg/answer", true},
		{"cmd/pa-record", "pkg/recorder", true},
		{"internal/test/memrun", "pkg/export", true},
		{"pkg/analyze", "pkg/recorder/load", false},
		{"pkg/recorder/journal", "pkg/analyze", false},
		{"pkg/answer", "pkg/analyze/expr", false},
		{"pkg/export", "pkg/wire/sse", false},
		{"pkg/wire/sse", "pkg/answer", false},
		{"internal/stat", "pkg/export", false},
		{"pkg/export", "internal/test/memrun", false},
		{"pkg/export", "internal/cmdline", false},
		{"pkg/recorder/load", "pkg/recorder/workload", false},
		{"pkg/recorder/rxclock", "pkg/recorder/backend", false},
		{"pkg/recorder/new", "pkg/recorder/backend", false},
		{"pkg/analyze/report", "pkg/analyze/diff", false},
		{"pkg/export/profilejson", "pkg/export/columnar", false},
		{"pkg/export/columnar", "pkg/export/columnar/internal/pages", true},
		{"pkg/export/columnar/internal/pages", "pkg/export", false},
		{"pkg/analyze", "cmd/pa-analyze", false},
		{"pkg/tool/aiperf", "pkg/tool/serving", false},
		{"pkg/new", "internal/plural", false},
	} {
		if wrong := wrongImport(tt.from, tt.to); (wrong == "") != tt.ok {
			t.Errorf("%s imports %s: %q, want allowed %v", tt.from, tt.to, wrong, tt.ok)
		}
	}
}
