package profilejson

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"testing"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/pkg/export"
)

// rewrite reads all of r and writes it again.
func rewrite(t testing.TB, r export.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	run := r.Run()
	at := -1
	end := func() {
		if at >= 0 {
			if err := w.EndExperiment(&run.Experiments[at]); err != nil {
				t.Fatal(err)
			}
		}
	}
	to := func(i int) {
		for at < i {
			end()
			at++
			if err := w.BeginExperiment(run.Experiments[at].Mode, run.Experiments[at].Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for r.Next() {
		to(r.Experiment())
		if err := w.WriteRequest(r.Request()); err != nil {
			t.Fatal(err)
		}
	}
	to(len(run.Experiments) - 1)
	end()
	if err := w.Close(run); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// goldenExports returns the exports of real perf_analyzer runs by name.
func goldenExports(t testing.TB) map[string][]byte {
	t.Helper()
	fsys := golden.FS(t, "perf_analyzer")
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || path.Base(p) != "profile_export.json" {
			return err
		}
		b, err := fs.ReadFile(fsys, p)
		if len(b) > 2 { // 0 bytes: types_nan; {}: a file that was there before
			files[path.Dir(p)] = b
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("only %d golden exports", len(files))
	}
	return files
}

func TestGoldenRewritten(t *testing.T) {
	for name, want := range goldenExports(t) {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(context.Background(), name, bytes.NewReader(want), int64(len(want)), export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got := rewrite(t, r)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			if w := r.Warnings(); len(w) > 0 {
				t.Errorf("warnings: %v", w)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("rewritten: %s", firstDifference(got, want))
			}
		})
	}
}

func firstDifference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	lo := max(0, i-60)
	return "got …" + string(got[lo:min(len(got), i+60)]) + "…, want …" + string(want[lo:min(len(want), i+60)])
}
