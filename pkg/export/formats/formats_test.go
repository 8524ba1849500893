package formats

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool"
)

// A real export goes through every format and comes back byte for byte.
func TestRoundTrip(t *testing.T) {
	want, err := fs.ReadFile(golden.FS(t, "perf_analyzer"), "2.60.0/openai_chat/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, want)
}

// So does one with telemetry, of which no series is in all scrapes.
func TestRoundTripTelemetry(t *testing.T) {
	const head = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2]}],"window_boundaries":[0,9],` +
		`"pa":{"measured":1,"server_stats":{"models":[{"name":"m"}],"snapshots":[{"edge":"end","start_ns":1,"end_ns":2,"stats":[]}]}}}],"version":"1"`
	const samples = `"samples":[{"series":0,"source":"http://h/metrics","name":"a","type":"gauge","labels":{"b":"c"}},{"source":"http://h/metrics","start_ns":1,"end_ns":2,"values":[[0,0.1]]},` +
		`{"source":"http://h/metrics","start_ns":3,"end_ns":4,"error":"refused"},{"series":1,"source":"http://h/metrics","name":"d"},` +
		`{"source":"http://h/metrics","start_ns":5,"end_ns":6,"values":[[1,"NaN"],[0,1.8446744073709552e+19]]}]`
	for name, text := range map[string]string{
		"metadata":    head + `,"pa":{"schema":"pa-export/1","tool":"t",` + samples + `}}`,
		"no metadata": head + `,"pa":{` + samples + `}}`,
		"no requests": `{"experiments":[],"pa":{` + samples + `}}`,
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, []byte(text)) })
	}
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
	o := export.Opener{Formats: append(Readers(), tool.Formats()...)}
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
	w, err := create(&b, nil)
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
