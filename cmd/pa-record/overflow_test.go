package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
)

// A request that is longer than the context of the model ends its session, is counted apart, and ends the run when there are too
// many of them. The server takes three messages at most.
func TestContextOverflow(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&q) // of a GET, there is none
		if len(q.Messages) > 3 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	input := filepath.Join(dir, "turns.jsonl")
	var lines strings.Builder
	for i := range 12 { // three sessions of four turns
		fmt.Fprintf(&lines, `{"session_id": "s%d", "messages": [{"role": "user", "content": "turn %d"}]}`+"\n", i/4, i%4)
	}
	if err := os.WriteFile(input, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		flags    string
		code     int
		messages []string
	}{
		{"--session-concurrency 2", 0, []string{
			"session concurrency 2: 3 of 9 requests failed",
			"session concurrency 2: 3 requests did not fit into the context of the model (context_overflow); shorten the input data, or give the server a longer context",
			"session concurrency 2: 3 turns were not sent, because an earlier turn was longer than the context of the model in 3 conversations",
		}},
		{"--session-rate 200 --on-session-failure continue --max-overflow-rate 50%", 0, []string{"3 turns were not sent"}},
		{"--session-concurrency 1 --max-overflow-rate 0.1", cmdline.ExitGate, []string{
			"session concurrency 1: 3 of 9 requests did not fit into the context of the model, 33.3%, more than the 10% allowed; the server says: the request exceeds the available context size, try increasing it",
		}},
	} {
		export := filepath.Join(dir, fmt.Sprint(i, ".json"))
		args := append(strings.Fields(tt.flags), "--service-kind", "openai", "-u", server.URL, "-m", "m", "--streaming", "--input-data", input, "--profile-export-file", export)
		code, _, stderr := inProcess(t.Context(), t, args...)
		for _, want := range tt.messages {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: standard error lacks %q:\n%s", tt.flags, want, stderr)
			}
		}
		text, err := os.ReadFile(export)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), `"status":"context_overflow","code":400`); code != tt.code || n != 3 || !strings.Contains(string(text), `"context_overflow":3,"not_sent":{"context_overflow":3}`) {
			t.Errorf("%s: exit code %d, %d requests with the status; want %d, 3, and the counts of sessions", tt.flags, code, n, tt.code)
		}
	}
}
