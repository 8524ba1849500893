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
)

// A thinker is a chat server whose answers begin with reasoning. It refuses an assistant message without
// content and without a tool call, and a tool call without its reasoning.
type thinker struct {
	calls   bool // the first answer calls a tool
	content bool // later answers have content
}

func (s *thinker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct {
			Role, Content string
			Reasoning     string            `json:"reasoning_content"`
			Calls         []json.RawMessage `json:"tool_calls"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil && r.Method == http.MethodPost {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, m := range q.Messages {
		if m.Role == "assistant" && (m.Content == "" && len(m.Calls) == 0 || len(m.Calls) > 0 && m.Reasoning == "") {
			http.Error(w, "a message lacks its content or its reasoning", http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	deltas := []string{`{"reasoning_content":"hm "}`, `{"reasoning_content":"hm"}`}
	switch {
	case s.calls && len(q.Messages) == 1:
		deltas = append(deltas, `{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`)
	case s.content:
		deltas = append(deltas, `{"content":"noon"}`)
	}
	for _, d := range deltas {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// The history of a conversation has what servers need of answers with reasoning.
func TestHistory(t *testing.T) {
	t.Parallel()
	const contentless = "warning: session concurrency 1: 1 answer before another turn had no content"
	for _, tt := range []struct {
		name   string
		server thinker
		flags  string
		ok     int
		warned bool
	}{
		{"a tool call", thinker{calls: true, content: true}, "", 2, false},
		{"a tool call, kept", thinker{calls: true, content: true}, "--history-reasoning keep", 2, false},
		{"a tool call, dropped", thinker{calls: true, content: true}, "--history-reasoning drop", 1, false},
		{"thoughts only", thinker{}, "", 2, true},
		{"thoughts only, dropped", thinker{}, "--history-reasoning drop", 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(&tt.server)
			defer server.Close()
			dir := t.TempDir()
			turn := `{"session_id":["s"],"payload":[{"messages":[{"role":"user","content":"q"}]}]}`
			input := filepath.Join(dir, "turns.json")
			if err := os.WriteFile(input, []byte(`{"data":[`+turn+","+turn+`]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("-m m --service-kind openai -u %s --streaming --session-concurrency 1 --input-data %s --profile-export-file %s %s", server.URL, input, filepath.Join(dir, "e.json"), tt.flags)
			code, stdout, stderr := inProcess(t.Context(), t, strings.Fields(line)...)
			if code != 0 || strings.Contains(stderr, contentless) != tt.warned || strings.Contains(stderr, "1 of 2 requests failed") != (tt.ok == 1) {
				t.Errorf("exit code %d, want %d requests that succeed, warned %v:\n%s%s", code, tt.ok, tt.warned, stdout, stderr)
			}
		})
	}
}
