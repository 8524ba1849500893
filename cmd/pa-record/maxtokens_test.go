package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A server that refuses max_tokens leads to --max-tokens-field, and takes requests with it.
func TestMaxTokensField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, refusal, flag string // refusal of a request with "max_tokens"
		want                string // in the message; "" for no advice
	}{
		{"names the other", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "", "--max-tokens-field max_completion_tokens"},
		{"names none", "unknown field max_tokens", "", "--max-tokens-field max_completion_tokens"},
		{"names another one", "max_tokens: use max_output_tokens", "", "--max-tokens-field max_output_tokens"},
		{"is about the number", "max_tokens is too large: 64. This model supports at most 16", "", ""},
		{"is about the number and names both", "'max_tokens' or 'max_completion_tokens' is too large: 64. This model's maximum context length is 16 tokens and your request has 5 input tokens (64 > 16 - 5).", "", ""},
		{"is about stream_options", "Unsupported parameter: 'stream_options'", "", "--include-usage=false leaves it out"},
		{"takes the other", "max_tokens is not supported", "max_completion_tokens", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodGet {
					fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				if strings.Contains(string(body), `"max_tokens"`) {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, tt.refusal)
					return
				}
				fmt.Fprint(w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
			}))
			defer srv.Close()
			args := []string{"--service-kind", "openai", "-u", srv.URL, "--request-count", "2", "--quiet", "--profile-export-file", filepath.Join(t.TempDir(), "x.json")}
			if tt.flag != "" {
				args = append(args, "--max-tokens-field", tt.flag)
			}
			code, _, stderr := inProcess(t.Context(), t, args...)
			if (code == 0) != (tt.flag != "") {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			if tt.want != "" && !strings.Contains(stderr, tt.want) || tt.want == "" && strings.Contains(stderr, "--max-tokens-field") {
				t.Errorf("message %q, want %q in it", stderr, tt.want)
			}
		})
	}
}
