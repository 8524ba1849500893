package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
)

// parseFor returns the settings of a command line without mistakes.
func parseFor(t *testing.T, args ...string) *settings {
	t.Helper()
	s, err := parse(t, "", args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return s
}

func noEnv(string) string { return "" }

// writeFiles writes files, by name, into a new folder.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpen(t *testing.T) {
	prompts := `{"text":"a"}` + "\n" + `{"text":"b"}` + "\n"
	dir := writeFiles(t, map[string]string{"two.jsonl": prompts})
	folder := writeFiles(t, map[string]string{"INPUT0": "\x01\x00\x00\x00", ".hidden": "x"})
	ranked := writeFiles(t, map[string]string{"queries.jsonl": `{"text":"q"}` + "\n", "passages.jsonl": prompts})
	openAI := []string{"--service-kind", "openai", "-m", "x"}
	for _, tt := range []struct {
		name    string
		args    []string
		stdin   string
		entries int
		note    string // "" for none
		err     string // "" for none
	}{
		{"built-in prompts", openAI, "", -1, "no --input-data: sending the built-in prompts", ""},
		{"an endpoint without built-in requests", append([]string{"--endpoint", "v1/other", "--request-template", `{"q": "{{prompt}}"}`}, openAI...), "", 0, "", "pa-record has no built-in requests for --endpoint v1/other"},
		{"random tensors", []string{"-m", "x"}, "", 1, "no --input-data: sending random tensors and strings", ""},
		{"a file", append([]string{"--input-data", filepath.Join(dir, "two.jsonl")}, openAI...), "", 2, "", ""},
		{"standard input", append([]string{"--input-data", "-"}, openAI...), prompts + prompts, 4, "", ""},
		{"fewer entries", append([]string{"--input-data", filepath.Join(dir, "two.jsonl"), "--num-dataset-entries", "1"}, openAI...), "", 1, "", ""},
		{"more entries than there are", append([]string{"--input-data", filepath.Join(dir, "two.jsonl"), "--num-dataset-entries", "3"}, openAI...), "", 2, "--num-dataset-entries 3: there are only 2", ""},
		{"made-up prompts", append([]string{"--synthetic-input-tokens", "3", "--num-dataset-entries", "7"}, openAI...), "", 7, "", ""},
		{"a folder of tensors", []string{"-m", "x", "--input-data", folder}, "", 1, "", ""},
		{"an empty folder", []string{"-m", "x", "--input-data", t.TempDir()}, "", 0, "", "the folder holds no file"},
		{"queries and passages", append([]string{"--endpoint", "v1/ranking", "--input-data", ranked, "--batch-size-text", "2", "--num-dataset-entries", "3"}, openAI...), "", 3, "", ""},
		{"no such file", append([]string{"--input-data", filepath.Join(dir, "none.jsonl")}, openAI...), "", 0, "", "--input-data: "},
		{"a tokenizer that is not there", append([]string{"--tokenizer", filepath.Join(dir, "none.json")}, openAI...), "", 0, "", "no such file or directory; --tokenizer built-in needs no file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := openData(t.Context(), parseFor(t, tt.args...), noEnv, strings.NewReader(tt.stdin))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := d.Len(); n != tt.entries && (tt.entries >= 0 || n == 0) {
				t.Errorf("%d entries, want %d", n, tt.entries)
			}
			for i := range d.Len() {
				if _, err := d.At(i); err != nil {
					t.Errorf("entry %d: %v", i, err)
				}
			}
			if notes := strings.Join(d.notes, "\n"); notes != tt.note {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			if err := d.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A signal during the reading is the error, and no flag is to blame.
func TestReadError(t *testing.T) {
	wrong := errors.New("line 3: no JSON")
	if err := readError(t.Context(), "--input-data", wrong); err.Error() != "--input-data: line 3: no JSON" || !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := cmdline.SignalError{Signal: syscall.SIGINT}
	cancel(ended)
	if err := readError(ctx, "--input-data", ended); !errors.Is(err, ended) || strings.HasPrefix(err.Error(), "--input-data: ") {
		t.Errorf("error %v", err)
	}
}
