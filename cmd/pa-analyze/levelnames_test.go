package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name of a load level comes from the file: no command lets it add a line to an error
// message or a warning, or send a control sequence to the terminal.
func TestLevelNamesInMessages(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.json")
	level := `{"experiment":{"mode":"a\npa-analyze: forged\u001b[2J","value":1},"requests":[{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"response":"x"}]}],"window_boundaries":[]}`
	text := `{"experiments":[` + level + `,` + strings.Replace(level, `"value":1`, `"value":2`, 1) + `],"version":"2.60.0","service_kind":"openai","endpoint":""}`
	other := file + "2"
	for i, path := range []string{file, other} {
		if err := os.WriteFile(path, []byte(strings.Replace(text, "[2]", fmt.Sprintf("[%d]", 2+i), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"report", "--experiment", "9", file},
		{"report", "--dialect", "genai-perf-25.08", "--experiment", "9", file},
		{"report", "--dialect", "genai-perf-25.08", file},
		{"report", "--dialect", "aiperf", "--experiment", "9", file},
		{"report", "--dialect", "vllm", "--experiment", "9", file},
		{"report", "--dialect", "llm_perf-v1", "--service-kind", "triton", "--experiment", "9", file},
		{"report", "--dialect", "perf_analyzer", "--experiment", "9", file},
		{"diff", "--experiment", "9", file, other},
		{"definitions", "--experiment", "9", file},
		{"definitions", file},
	} {
		res := exec(t, "", args...)
		if !strings.Contains(res.stderr, `a\npa-analyze: forged\x1b[2J`) || strings.Contains(res.stderr, "a\n") {
			t.Errorf("%q: %q", args, res.stderr)
		}
	}
}
