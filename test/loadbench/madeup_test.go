//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A made-up export reads without a warning, holds what was asked for, and is the same file
// each time.
func TestExport(t *testing.T) {
	const requests, tokens = 130, 7
	m := madeUp{requests: requests, tokens: tokens, counts: uncounted, ranks: 1}
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "export.json")
		if _, err := m.create(path); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of the same size differ")
	}
	r, err := profilejson.NewReader(t.Context(), "made-up", bytes.NewReader(files[0]), int64(len(files[0])), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for ; r.Next(); n++ {
		q := r.Request()
		if len(q.Responses) != tokens {
			t.Fatalf("request %d has %d responses, want %d", n, len(q.Responses), tokens)
		}
		last := q.StartNS
		for i := range q.Responses {
			if q.Responses[i].RecvNS <= last {
				t.Fatalf("request %d: response %d is not later than the previous one", n, i)
			}
			last = q.Responses[i].RecvNS
		}
		for i, want := range map[int]string{0: `"role":"assistant"`, 2: `"delta":{"content":`, tokens - 2: `"finish_reason":"stop"`, tokens - 1: "data: [DONE]\n\n"} {
			v, _ := q.Responses[i].Outputs.Get("response")
			if !strings.Contains(string(v.Data), want) {
				t.Errorf("request %d, response %d = %q, want %q in it", n, i, v.Data, want)
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if w := r.Warnings(); n != requests || len(w) > 0 {
		t.Errorf("%d requests, warnings %v; want %d and none", n, w, requests)
	}
}

// The plain readers read a whole file, and fail on one that breaks off.
func TestPlain(t *testing.T) {
	dir := t.TempDir()
	whole, broken := filepath.Join(dir, "whole.json"), filepath.Join(dir, "broken.json")
	if _, err := (madeUp{requests: 20, tokens: 10, counts: uncounted, ranks: 1}).create(whole); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{unmarshal, readerOnly} {
		if err := plainMain(t.Context(), []string{way, whole}, io.Discard, io.Discard); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if err := plainMain(t.Context(), []string{way, broken}, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: half a file is no error", way)
		}
	}
}

// A command that fails is an error, not a fast command.
func TestUsage(t *testing.T) {
	var out, log bytes.Buffer
	if err := usageMain(t.Context(), []string{"false"}, &out, &log); err == nil || out.Len() > 0 {
		t.Errorf("usage of a failing command = %q, %v; want an error alone", &out, err)
	}
	if err := usageMain(t.Context(), []string{"true"}, &out, &log); err != nil || !strings.Contains(out.String(), peakMB) {
		t.Errorf("usage = %q, %v; want figures", &out, err)
	}
}
