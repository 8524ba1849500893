package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pa-tools/pa/internal/golden"
)

// The scripts of diff, which look at exit codes:
//
//	exits CODE COMMAND…
func TestDiffScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/diff", UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit interface{ ExitCode() int } // an *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// The examples of docs/reference/diff.md are what the program prints, for the runs in the
// archive diff_guide.
func TestDiffGuide(t *testing.T) { checkGuide(t, "reference/diff.md", "diff_guide", 4) }

// The same of docs/reference/definitions.md.
func TestDefinitionsGuide(t *testing.T) {
	checkGuide(t, "reference/definitions.md", "definitions_guide", 2)
}

// checkGuide runs the examples of a page of docs, n at least, in a folder with the
// files of an archive, and compares what the program prints. A line "…" stands for
// any number of others, and a comment behind the command for its exit code.
func checkGuide(t *testing.T, page, archive string, n int) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(golden.Root(t), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, golden.FS(t, archive)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	// An indented block ends with a line that is neither indented nor empty.
	examples := regexp.MustCompile(`(?m)^    \$ pa-analyze (.*)\n((?:    .*\n|\n)*)`).FindAllStringSubmatch(string(doc), -1)
	if len(examples) < n {
		t.Fatalf("%d examples", len(examples))
	}
	for _, x := range examples {
		command, comment, _ := strings.Cut(x[1], "  # exit code ")
		args := []string{"pa-analyze"}
		for _, a := range strings.Fields(command) { // no blanks within quotes
			args = append(args, strings.ReplaceAll(a, "'", ""))
		}
		var stdout, stderr strings.Builder
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
		if want := cmp.Or(comment, "0"); strconv.Itoa(code) != want {
			t.Errorf("%s: exit code %d, want %s; %s", command, code, want, stderr.String())
		}
		want := strings.TrimRight(regexp.MustCompile(`(?m)^    `).ReplaceAllString(x[2], ""), "\n")
		var pattern strings.Builder
		for i, part := range strings.Split("\n"+want+"\n", "\n…\n") {
			if i > 0 {
				pattern.WriteString(`\n(?:.*\n)*`)
			}
			pattern.WriteString(regexp.QuoteMeta(part))
		}
		if !regexp.MustCompile(`^` + pattern.String() + `$`).MatchString("\n" + stdout.String()) {
			t.Errorf("%s prints\n%s\nthe guide says\n%s", command, stdout.String(), want)
		}
	}
}
