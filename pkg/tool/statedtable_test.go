package tool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
)

// A tableKey is a line of the table.
type tableKey struct{ tool, file string }

// A tableLine is what was read of the files of a tool.
type tableLine struct {
	releases    map[string]bool
	requests    int // files that are runs with requests
	least, most int // figures of a level
	own         bool
}

// TestStatedTable reads all result files of the archives and of our fixtures. Each figure has the digits of its file, and the page has the
// table of what was read.
func TestStatedTable(t *testing.T) {
	lines := map[tableKey]*tableLine{}
	for _, archive := range []string{"peers", "genai_perf", "aiperf", "serving"} {
		all := golden.FS(t, archive)
		err := fs.WalkDir(all, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".json", ".jsonl", ".csv", ".yaml"}, path.Ext(name)) {
				return err
			}
			data, err := fs.ReadFile(all, name)
			if err != nil {
				return err
			}
			release := "" // only the archive of GenAI-Perf names releases
			if archive == "genai_perf" {
				release, _, _ = strings.Cut(name, "/")
			}
			readForTable(t, lines, name, release, data, false)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{"stated", "statedmore"} {
		text, err := os.ReadFile("../../cmd/pa-analyze/testdata/script/" + script + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		parts := regexp.MustCompile(`(?m)^-- (.+) --\n`).FindAllSubmatchIndex(text, -1)
		for i, p := range parts {
			end := len(text)
			if i+1 < len(parts) {
				end = parts[i+1][0]
			}
			readForTable(t, lines, string(text[p[2]:p[3]]), "", text[p[1]:end], true)
		}
	}
	var b strings.Builder
	b.WriteString("| tool | release | file | requests | figures |\n|---|---|---|---|---:|\n")
	for _, k := range slices.SortedFunc(maps.Keys(lines), func(a, b tableKey) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.tool), strings.ToLower(b.tool)), cmp.Compare(a.file, b.file))
	}) {
		l := lines[k]
		requests, figures, mark := "–", "–", ""
		if l.requests > 0 {
			requests = "yes"
		}
		if l.most > 0 {
			if figures = fmt.Sprint(l.least); l.most > l.least {
				figures += fmt.Sprintf(" to %d", l.most)
			}
		}
		if l.own {
			mark = " \\*"
		}
		releases := slices.Sorted(maps.Keys(l.releases))
		if n := len(releases); n > 3 {
			releases = []string{releases[0] + " … " + releases[n-1]}
		}
		fmt.Fprintf(&b, "| %s%s | %s | %s | %s | %s |\n", k.tool, mark, cmp.Or(strings.Join(releases, ", "), "not stated"), k.file, requests, figures)
	}
	const page = "../../docs/reference/stated.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- table: results -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if old == b.String() {
		return
	}
	if !*update {
		t.Fatalf("%s: the table is not what was read; go test ./pkg/tool -run StatedTable -update writes it:\n%s", page, b.String())
	}
	if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readForTable adds a file to the lines.
func readForTable(t *testing.T, lines map[tableKey]*tableLine, name, release string, data []byte, own bool) {
	t.Helper()
	for _, format := range Formats() {
		if !format.Sniff(data[:min(len(data), 4096)]) {
			continue
		}
		r, err := format.Open(t.Context(), name, bytes.NewReader(data), int64(len(data)), export.Limits{})
		s := new(stated.Error)
		switch {
		case errors.As(err, &s):
			sameDigits(t, s.Result, data)
			l := line(lines, tableKey{s.Result.Definitions, kindOf(name)}, cmp.Or(s.Result.Release, release), own)
			for i := range s.Result.Levels {
				n := len(s.Result.Levels[i].Figures)
				l.least, l.most = min(cmp.Or(l.least, n), n), max(l.most, n)
			}
		case err == nil:
			tool, version := r.Run().Meta.Tool, ""
			if i := strings.LastIndexByte(tool, ' '); i > 0 && strings.ContainsAny(tool[i:], "0123456789") {
				tool, version = tool[:i], tool[i+1:]
			}
			line(lines, tableKey{tool, kindOf(name)}, cmp.Or(version, release), own).requests++
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
}

// line returns the line of a key.
func line(lines map[tableKey]*tableLine, k tableKey, release string, own bool) *tableLine {
	l := lines[k]
	if l == nil {
		l = &tableLine{releases: map[string]bool{}, own: true}
		lines[k] = l
	}
	l.own = l.own && own
	if release != "" && (!own || l.own) {
		l.releases[release] = true
	}
	return l
}

// kindOf returns the kind of a file: its name, if tools choose it.
func kindOf(name string) string {
	base, ext := path.Base(name), strings.TrimPrefix(path.Ext(name), ".")
	for _, known := range []string{"profile_export", "benchmarks", "_lifecycle_metrics", "events", "result_summary"} {
		if strings.Contains(base, known) && !strings.HasPrefix(base, "stage_") {
			return "`" + base + "`"
		}
	}
	if strings.HasPrefix(base, "stage_") {
		return "`stage_N_lifecycle_metrics.json`"
	}
	return strings.ToUpper(strings.Replace(ext, "jsonl", "json", 1))
}

// sameDigits checks that each figure is in the file as it is shown.
func sameDigits(t *testing.T, r *stated.Result, data []byte) {
	t.Helper()
	plain := bytes.ReplaceAll(data, []byte(","), nil)
	for i := range r.Levels {
		for _, f := range r.Levels[i].Figures {
			if !math.IsNaN(f.Value) && !bytes.Contains(data, []byte(f.Text)) && !bytes.Contains(plain, []byte(f.Text)) {
				t.Errorf("%s: %s: %s is not in the file", r.File, f.Name(), f.Text)
			}
		}
	}
}
