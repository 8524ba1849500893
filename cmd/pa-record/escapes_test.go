package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// Standard error shows a server's error message with escapes in place of control
// characters and of characters that reverse the direction of text.
func TestServerTextIsEscaped(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "{\"error\":{\"message\":\"\u202egnp.exe \\u001b[31mred \\u009b32m\"}}")
	}))
	defer srv.Close()
	code, stdout, stderr := inProcess(t.Context(), t, "-m", "m", "-u", srv.URL, "--service-kind", "openai", "--request-count", "2",
		"--profile-export-file", t.TempDir()+"/e.json")
	if code == 0 {
		t.Errorf("exit code 0 although every request failed\n%s", stderr)
	}
	if !strings.Contains(stderr, `\u202egnp.exe`) {
		t.Errorf("standard error does not hold the server's message, escaped:\n%q", stderr)
	}
	for _, raw := range []string{"\u202e", "\x1b", "\u009b"} {
		if strings.Contains(stderr+stdout, raw) {
			t.Errorf("%q reaches the terminal:\n%s%s", raw, stdout, stderr)
		}
	}
}

// So does what the command line itself holds.
func TestCommandLineIsEscaped(t *testing.T) {
	for _, args := range [][]string{{"--\x1b[31mflag"}, {"-m", "m", "--input-data", "\x1b[31mfile"}, {"-m", "m", "--config", "\u202efile"}} {
		code, _, stderr := inProcess(t.Context(), t, args...)
		if code == 0 || strings.ContainsAny(stderr, "\x1b\u202e") {
			t.Errorf("%q: exit code %d, standard error %q", args, code, stderr)
		}
	}
}

// The plan of --dry-run is JSON with escapes, which are read back as the text that was given.
func TestPlanIsEscaped(t *testing.T) {
	const model = "m\u009b31m\u202e\u2066\ufeff"
	code, stdout, stderr := inProcess(t.Context(), t, "-m", model, "-u", "sim://", "--service-kind", "openai", "--dry-run")
	var plan map[string]any
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	if strings.ContainsAny(stdout, "\u009b\u202e\u2066\ufeff") || !strings.Contains(stdout, `m\u009b31m\u202e\u2066\ufeff`) {
		t.Errorf("the plan is not escaped: %q", stdout)
	}
}

// The requests of inputs on a terminal are JSON with escapes; a pipe gets the bytes that would be sent.
func TestInputsAreEscaped(t *testing.T) {
	const model = "m\u009b31m\u202e"
	for _, shown := range []bool{true, false} {
		env := newEnvironment(func(string) string { return "" }, make(chan os.Signal))
		env.shown = shown
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"pa-record", "inputs", "-m", model, "--service-kind", "openai", "--input-data", writeFile(t, t.TempDir(), "prompts.txt", "hello\n"), "-n", "1"},
			env, strings.NewReader(""), &stdout, &stderr)
		var inputs struct {
			Data []struct{ Payload []struct{ Model string } }
		}
		if err := json.Unmarshal([]byte(stdout.String()), &inputs); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v: %s", code, err, stderr.String())
		}
		if got := inputs.Data[0].Payload[0].Model; got != model || strings.Contains(stdout.String(), model) == shown {
			t.Errorf("terminal %v: model %q in %q", shown, got, stdout.String())
		}
	}
}
