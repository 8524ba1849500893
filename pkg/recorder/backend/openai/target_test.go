package openai

import "testing"

func TestNewTarget(t *testing.T) {
	for _, tt := range []struct {
		url, endpoint     string
		uri, models, addr string
		display           string
		secure            bool
	}{
		{"localhost:8000", "", "/v1/chat/completions", "/v1/models", "localhost:8000", "http://localhost:8000/v1/chat/completions", false},
		{"http://h", "v1/completions", "/v1/completions", "/v1/models", "h:80", "http://h/v1/completions", false},
		{"https://h/", "/v1/completions", "/v1/completions", "/v1/models", "h:443", "https://h/v1/completions", true},
		{"[::1]:8000", "", "/v1/chat/completions", "/v1/models", "[::1]:8000", "http://[::1]:8000/v1/chat/completions", false},
		{"http://h/proxy/a%20b", "", "/proxy/a%20b/v1/chat/completions", "/proxy/a%20b/v1/models", "h:80", "http://h/proxy/a%20b/v1/chat/completions", false},
		{"http://h/v1", "", "/v1/chat/completions", "/v1/models", "h:80", "http://h/v1/chat/completions", false},
		{"http://h/api/v1/", "", "/api/v1/chat/completions", "/api/v1/models", "h:80", "http://h/api/v1/chat/completions", false},
		{"http://h/v1/chat/completions", "", "/v1/chat/completions", "/v1/models", "h:80", "http://h/v1/chat/completions", false},
		{"http://h", "completion", "/completion", "/v1/models", "h:80", "http://h/completion", false},
		{"https://h?api-version=1", "openai/deployments/d/chat/completions?x=y", "/openai/deployments/d/chat/completions?api-version=1&x=y", "/v1/models?api-version=1&x=y", "h:443", "https://h/openai/deployments/d/chat/completions", true},
		{"http://user:secret@h:1", "", "/v1/chat/completions", "/v1/models", "h:1", "http://h:1/v1/chat/completions", false},
	} {
		got, err := newTarget(tt.url, tt.endpoint)
		if err != nil {
			t.Errorf("newTarget(%q, %q): %v", tt.url, tt.endpoint, err)
			continue
		}
		if got.uri != tt.uri || got.models != tt.models || got.addr != tt.addr || got.url != tt.display || got.secure != tt.secure {
			t.Errorf("newTarget(%q, %q) = %q %q %q %q %v, want %q %q %q %q %v", tt.url, tt.endpoint,
				got.uri, got.models, got.addr, got.url, got.secure, tt.uri, tt.models, tt.addr, tt.display, tt.secure)
		}
	}
}
