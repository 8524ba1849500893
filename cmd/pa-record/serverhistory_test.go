package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// With the history at the server, a turn behind a failed answer is not sent, or is counted as unanswered with
// --on-session-failure continue.
func TestServerHistoryAfterAFailure(t *testing.T) {
	input := filepath.Join(t.TempDir(), "turns.jsonl")
	var lines strings.Builder
	for i := range 4 {
		fmt.Fprintf(&lines, `{"session_id": "s", "prompt": "turn %d"}`+"\n", i)
	}
	if err := os.WriteFile(input, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]struct{ warning, counts, bodies string }{
		"stop": {
			"2 turns were not sent, because an earlier turn failed in 1 conversation", `"failed":1,"not_sent":{"failed":2}`,
			`{"model":"m","input":"turn 0","store":true}|{"model":"m","input":"turn 1","store":true,"previous_response_id":"r1"}`,
		},
		"continue": {
			"1 turn was sent without the previous answer, because its request failed (--on-session-failure continue)", `"completed":1,"unanswered":1`,
			`{"model":"m","input":"turn 0","store":true}|{"model":"m","input":"turn 1","store":true,"previous_response_id":"r1"}` +
				`|{"model":"m","input":[{"role":"user","content":"turn 1"},{"role":"user","content":"turn 2"}],"store":true,"previous_response_id":"r1"}` +
				`|{"model":"m","input":"turn 3","store":true,"previous_response_id":"r3"}`,
		},
	} {
		t.Run(flag, func(t *testing.T) {
			var asked atomic.Int32
			var bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					http.NotFound(w, r)
					return
				}
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				n := asked.Add(1)
				w.Header().Set("Content-Type", "application/json")
				if n == 2 {
					w.WriteHeader(http.StatusInternalServerError)
				}
				fmt.Fprintf(w, `{"id":"r%d","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}]}`, n)
			}))
			t.Cleanup(server.Close)
			export := filepath.Join(t.TempDir(), "e.json")
			_, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "--endpoint", "v1/responses", "-u", server.URL, "-m", "m", "--input-data", input,
				"--session-concurrency", "1", "--session-history", "server", "--on-session-failure", flag, "--max-error-rate", "100%", "--profile-export-file", export)
			text, err := os.ReadFile(export)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(stderr, want.warning) || !strings.Contains(string(text), want.counts) {
				t.Errorf("want %q and %s; standard error:\n%s", want.warning, want.counts, stderr)
			}
			if got := strings.Join(bodies, "|"); got != want.bodies {
				t.Errorf("asked\n%s, want\n%s", got, want.bodies)
			}
		})
	}
}
