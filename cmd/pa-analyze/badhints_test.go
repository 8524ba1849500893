package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The message about a bad hint names the file's hint. It does not blame a flag that
// nobody gave.
func TestHintsNotUnderstood(t *testing.T) {
	const rest = `"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"response":"a"}]}],"window_boundaries":[]}],"version":"1"}`
	for name, tt := range map[string]struct{ hints, stderr string }{
		"goodput":       {`"dialect":"perf_analyzer","goodput":"a\u001b:b"`, `the file's hint goodput="a\x1b:b" is not understood; --dialect strict reports without it`},
		"endpoint type": {`"dialect":"genai-perf-25.01","endpoint_type":"chatty"`, `the file's hint endpoint_type="chatty" is not known; give --endpoint-type, one of chat,`},
		"dialect":       {`"dialect":"a\u001b"`, `the file asks for a report as "a\x1b" prints it, which pa-analyze does not know`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.json")
			if err := os.WriteFile(file, []byte(`{"pa":{"schema":"pa-export/1","analysis_hints":{`+tt.hints+`}},`+rest), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			code := run(t.Context(), []string{"pa-analyze", file}, strings.NewReader(""), &out, &errs)
			if code == 2 || !strings.Contains(errs.String(), tt.stderr) {
				t.Errorf("exit code %d, stderr %s, want %q", code, errs.String(), tt.stderr)
			}
		})
	}
}
