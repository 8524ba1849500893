package baseline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccept(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	for _, name := range []string{"a/run.json", "b/run.json", "b/other.json"} {
		path := filepath.Join(runs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(dir, "base")
	if points, err := List(base, 0); err != nil || points != nil {
		t.Errorf("a directory that is not there: %v, %v", points, err)
	}
	for i, name := range []string{"2026-01-01T000000Z", "2026-01-02T000000Z-v2", "2026-01-03T000000Z"} {
		files := []string{filepath.Join(runs, "a/run.json"), filepath.Join(runs, "b/run.json")}[:1+i%2]
		if folder, err := Accept(base, name, files); err != nil || folder != filepath.Join(base, name) {
			t.Fatal(folder, err)
		}
	}
	// The copies hold the same prompts and answers: who may read them stays.
	if st, err := os.Stat(filepath.Join(base, "2026-01-01T000000Z", "run.json")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the copy of a private file: %v, %v; want mode 0600", st, err)
	}
	// Neither twice, nor half of a point, nor what only looks like one.
	if _, err := Accept(base, "2026-01-01T000000Z", nil); err == nil || !strings.Contains(err.Error(), "is accepted already") {
		t.Error(err)
	}
	if _, err := Accept(base, "2026-01-04T000000Z", []string{filepath.Join(runs, "a/run.json"), filepath.Join(runs, "none.json")}); err == nil {
		t.Error("a file that is not there was accepted")
	}
	if err := os.Mkdir(filepath.Join(base, ".accepting-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	points, err := List(base, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []Point{
		{"2026-01-02T000000Z-v2", []string{filepath.Join(base, "2026-01-02T000000Z-v2/2-run.json"), filepath.Join(base, "2026-01-02T000000Z-v2/run.json")}},
		{"2026-01-03T000000Z", []string{filepath.Join(base, "2026-01-03T000000Z/run.json")}},
	}
	if d := cmp.Diff(want, points); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d entries, want 3 points and the directory that was made here: %v", len(entries), entries)
	}
}

func TestName(t *testing.T) {
	for want, label := range map[string]string{"2023-11-14T221320Z": "", "2023-11-14T221320Z-v1.2": "v1.2", "2023-11-14T221320Z-_.._a": "/../a"} {
		if got := Name(1_700_000_000_000_000_000, label); got != want {
			t.Errorf("%q: %s, want %s", label, got, want)
		}
	}
}
