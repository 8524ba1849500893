package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// The answer decides whether it is a stream, whatever was asked for and whatever its headers say. A
// contradiction is one warning of a run.
func TestAnswerUnlikeAsked(t *testing.T) {
	t.Parallel()
	const (
		whole = `{"choices":[{"index":0,"message":{"content":"a b c"},"finish_reason":"stop"}]}`
		usage = `,"usage":{"prompt_tokens":5,"completion_tokens":40}}`
		chunk = `{"choices":[{"index":0,"delta":{"content":"a"}}]}`
		last  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	)
	const (
		ignored = "8 of 8 requests asked for a streamed answer and got a whole one"
		events  = "text/event-stream"
	)
	for _, tt := range []struct {
		name, flags, contentType string
		pieces                   []string
		warning                  string
		streamed                 bool
		tokens                   export.Int
	}{
		{"whole", "--streaming", "application/json", []string{whole[:len(whole)-1] + usage}, ignored, false, export.IntOf(40)},
		{"whole, without usage", "--streaming", "application/json", []string{whole}, ignored, false, export.Int{}},
		{"whole, as events", "--streaming", events, []string{whole}, ignored, false, export.Int{}},
		{"events as JSON", "--streaming", "application/json", []string{"data: " + chunk + "\n\n", "data: " + chunk + "\n\n", "data: " + last + "\n\n"}, "", true, export.IntOf(2)},
		{"lines", "--streaming", "application/x-ndjson", []string{chunk + "\n", chunk + "\n", last + "\n"}, "", true, export.IntOf(2)},
		{"events that nobody asked for", "", events, []string{"data: " + chunk + "\n\n", "data: " + chunk + "\n\n", "data: [DONE]\n\n"}, "", true, export.IntOf(2)},
		{"whole, as asked", "", "application/json", []string{whole}, "", false, export.Int{}},
	} {
		for _, transport := range []string{"loop", "nethttp"} {
			t.Run(tt.name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", tt.contentType)
					for _, p := range tt.pieces {
						_, _ = io.WriteString(w, p)
						_ = http.NewResponseController(w).Flush()
					}
				}))
				defer server.Close()
				out := filepath.Join(t.TempDir(), "e.json")
				line := fmt.Sprintf("-m m --service-kind openai -u %s --transport %s --concurrency-range 1:2 --request-count 4 --profile-export-file %s %s", server.URL, transport, out, tt.flags)
				code, _, stderr := inProcess(t.Context(), t, strings.Fields(line)...)
				if code != 0 {
					t.Fatalf("exit code %d:\n%s", code, stderr)
				}
				if n := strings.Count(stderr, "asked for a streamed answer"); n != min(len(tt.warning), 1) || !strings.Contains(stderr, tt.warning) {
					t.Errorf("%d warnings, want %q:\n%s", n, tt.warning, stderr)
				}
				run, requests := exporttest.Read(t, out)
				m := answer.NewMeter(run, answer.Config{})
				for i := range requests {
					q := m.Measure(&requests[i])
					if q.TTFT.OK != tt.streamed || (q.Streamed == answer.StreamedYes) != tt.streamed || q.OutputTokens != tt.tokens || !q.E2EL.OK {
						t.Fatalf("request %d: %+v", i, q.Measures)
					}
				}
			})
		}
	}
}
