package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// The JSON of no command holds characters that a terminal obeys or a reader does not see; the names
// of files and the texts of servers are read back as they are.
func TestPrintedJSON(t *testing.T) {
	t.Parallel()
	const hostile = "a\u009b31m\u0085\u202e\u2066\u2028\ufeff\u007fz"
	dir := t.TempDir()
	var files []string
	for i := range 3 {
		r := memrun.Spec{Second: uint64(100 * i), TTFT: 30 + float64(i), ITL: 20, Model: hostile, Levels: []string{"1"}}.Reader()
		q := &r.Requests[0][1]
		q.Status, q.Message, q.FailedNS, q.ServerID = export.StatusHTTPError, hostile, q.StartNS+5, hostile
		r.Header.Meta.Host = &export.HostMeta{Name: hostile}
		r.Header.Meta.Warnings = []string{hostile}
		files = append(files, filepath.Join(dir, hostile+string(rune('0'+i))+".json"))
		exporttest.Write(t, files[i], r)
	}
	for _, args := range [][]string{
		{"report", "--format", "json", files[0]},
		{"report", "--format", "json", files[0], files[1]},
		{"report", "--format", "json", "--names", "otel", files[0]},
		{"requests", "--format", "jsonl", files[0]},
		{"requests", "--format", "jsonl", "--names", "otel", files[0]},
		{"check", "--format", "json", files[0]},
		{"diff", "--format", "json", files[0], files[1]},
		{"rig", "--format", "json", files[0], files[1], files[2]},
		{"trend", "--format", "json", files[0], files[1]},
		{"pareto", "--format", "json", files[0]},
		{"definitions", "--format", "json", files[0]},
		{"trace", files[0]},
		{"write", "--to", "otlp-json", "--time", "2026-01-31T12:00:00Z", files[0]},
		{"write", "--to", "pytorch-hud", files[0]},
		{"report", "--dialect", "aiperf", "--arg", "use_server_token_count=true", "--format", "json", files[0]},
		{"report", "--dialect", "genai-perf-latest", "--format", "json", files[0]},
	} {
		got := exec(t, "", args...)
		if got.stdout == "" {
			t.Errorf("%q: exit code %d: %s", args, got.code, got.stderr)
			continue
		}
		if at := strings.IndexAny(got.stdout, "\u009b\u0085\u202e\u2066\u2028\ufeff\u007f"); at >= 0 {
			t.Errorf("%q: byte %d of %q", args, at, got.stdout[max(0, at-40):at+20])
		}
		d := json.NewDecoder(strings.NewReader(got.stdout))
		read := false
		for d.More() {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatalf("%q: %v", args, err)
			}
			read = read || holds(v, hostile)
		}
		if !read && args[0] != "check" && !strings.Contains(strings.Join(args, " "), "--dialect") {
			t.Errorf("%q: the text is not read back: %s", args, got.stdout)
		}
	}
	// An export keeps the bytes.
	out := filepath.Join(dir, "copy.json")
	if got := exec(t, "", "convert", files[0], out); got.code != 0 {
		t.Fatal(got.stderr)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "\u202e") {
		t.Errorf("the export was changed: %v", err)
	}
}

// holds reports whether a string within v contains text.
func holds(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		for _, x := range v {
			if holds(x, text) {
				return true
			}
		}
	case map[string]any:
		for name, x := range v {
			if strings.Contains(name, text) || holds(x, text) {
				return true
			}
		}
	}
	return false
}
