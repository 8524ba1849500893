package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tool"
)

// The result files of other tools are valid, and so is what they become: a load that
// a tool does not say is no violation.
func TestForeign(t *testing.T) {
	peers := golden.FS(t, "peers")
	for _, name := range []string{
		"aiperf/ok/profile_export.jsonl", "aiperf/ok/profile_export_raw.jsonl", "infperf/ok/reports/per_request_lifecycle_metrics.json",
		"guidellm/ok/benchmarks.json", "vllm/ok/result.json", "vllm_rs/ok/result.json", "sglang/ok/result.jsonl", "sglang_rs/ok/result.jsonl",
	} {
		data, err := fs.ReadFile(peers, name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		from := filepath.Join(dir, "foreign")
		if err := os.WriteFile(from, data, 0o600); err != nil {
			t.Fatal(err)
		}
		valid(t, name, from)
		for _, suffix := range []string{"json", "json.gz", "json.zst", "parquet", "arrow"} {
			to := filepath.Join(dir, "ours."+suffix)
			convert(t, from, to)
			valid(t, name+" as "+suffix, to)
		}
	}
}

func valid(t *testing.T, name, path string) {
	t.Helper()
	var found []string
	v, err := check.Validate(t.Context(), openAny(t, path), check.ValidateConfig{}, func(v check.Violation) { found = append(found, v.String()) })
	if err != nil || v.Requests == 0 || len(found) > 0 {
		t.Errorf("%s: %d requests, %v, violations: %s", name, v.Requests, err, strings.Join(found, "; "))
	}
}

func convert(t *testing.T, from, to string) {
	t.Helper()
	create, ok := formats.ForName(to)
	if !ok {
		t.Fatalf("no format for %s", to)
	}
	var b bytes.Buffer
	w, err := create(&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := export.Copy(t.Context(), w, openAny(t, from)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openAny opens a file of any tool until the end of the test.
func openAny(t *testing.T, path string) export.Reader {
	t.Helper()
	o := export.Opener{Formats: append(formats.Readers(), tool.Formats()...)}
	r, err := o.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // only read
	return r
}
