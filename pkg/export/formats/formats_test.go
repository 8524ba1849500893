package formats

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/pkg/export"
)

// A real export goes through every format and comes back byte for byte.
func TestRoundTrip(t *testing.T) {
	want, err := fs.ReadFile(golden.FS(t, "perf_analyzer"), "2.60.0/openai_chat/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, want)
}

// So does what the file of another tool becomes.
func TestRoundTripForeign(t *testing.T) {
	for _, name := range []string{"guidellm/cut/benchmarks.json", "vllm_rs/cut/result.json", "aiperf/ok/profile_export_raw.jsonl"} {
		foreign, err := fs.ReadFile(golden.FS(t, "peers"), name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		from, to := filepath.Join(dir, "foreign"), filepath.Join(dir, "ours.json")
		if err := os.WriteFile(from, foreign, 0o600); err != nil {
			t.Fatal(err)
		}
		rewrite(t, from, to)
		want, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(want, []byte(`"import":{"format":`)) {
			t.Errorf("%s: the import is not marked", name)
		}
		t.Run(name, func(t *testing.T) { roundTrip(t, want) })
	}
}

// roundTrip takes a profile_export.json through every format.
func roundTrip(t *testing.T, want []byte) {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join(dir, "in.json")
	if err := os.WriteFile(from, want, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.json", "b.json.gz", "c.json.zst", "d.parquet", "e.arrow", "F.JSON"} {
		t.Run(name, func(t *testing.T) {
			there := filepath.Join(dir, name)
			rewrite(t, from, there)
			back := filepath.Join(dir, "back.json")
			rewrite(t, there, back)
			got, err := os.ReadFile(back)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes (%v), want the %d that went in", len(got), err, len(want))
			}
		})
	}
}

func rewrite(t *testing.T, from, to string) {
	t.Helper()
	o := export.Opener{Formats: Readers()}
	r, err := o.Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	create, ok := ForName(to)
	if !ok {
		t.Fatalf("no format for %s", to)
	}
	var b bytes.Buffer
	w, err := create(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := export.Copy(t.Context(), w, r); err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestForNameUnknown(t *testing.T) {
	for _, name := range []string{"", "x", "x.csv", "json", "x.gz", "x.json.bak"} {
		if _, ok := ForName(name); ok {
			t.Errorf("ForName(%q) knows a format", name)
		}
	}
}
