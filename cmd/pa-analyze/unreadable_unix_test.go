//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
)

// Every command that reads files says of one that cannot be read its name, what is wrong and what to do, not the call of
// the system, and ends with exit code 1.
func TestUnreadableFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	const whole = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2,3]}],"window_boundaries":[]}],"version":"","service_kind":"","endpoint":""}`
	for name, text := range map[string]string{"ok.json": whole, "two.json": whole, "e.json": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{ // by command; F is the file
		"report":      {"report F", "F", "report F --format json", "report ok.json F", "report F --dialect vllm", "report F --dialect perf_analyzer", "report F --dialect genai-perf-latest"},
		"diff":        {"diff F ok.json", "diff ok.json F --format json", "diff old=F new=ok.json"},
		"rig":         {"rig F ok.json two.json"},
		"plan":        {"plan F"},
		"trend":       {"trend F ok.json", "trend ok.json F --format json"},
		"check":       {"check F", "check F --format json"},
		"pareto":      {"pareto F"},
		"plot":        {"plot cdf F -o o.svg", "plot sweep F -o o.svg", "plot prompt-length F -o o.svg"},
		"requests":    {"requests F", "requests F --format csv"},
		"validate":    {"validate F", "validate ok.json F"},
		"convert":     {"convert F o.parquet"},
		"merge":       {"merge --clients F ok.json o.json"},
		"html":        {"html F -o o.html"},
		"trace":       {"trace F -o o.json.gz"},
		"write":       {"write --to influx F", "write --to mlflow --folder o F"},
		"tokenize":    {"tokenize --tokenizer ./F", "tokenize --tokenizer built-in F"},
		"sql":         nil, // reads no file
		"definitions": {"definitions F"}, "avg-first-token": {"avg-first-token F"}, "avg-token-to-token": {"avg-token-to-token F"},
	}
	for _, c := range analyzeApp().Commands {
		if _, ok := lines[c.Name]; !ok {
			t.Errorf("%s is not in the table", c.Name)
		}
	}
	for _, all := range lines {
		for _, line := range all {
			for file, want := range map[string]string{
				"none.json": "no such file or directory; ",
				"ok.json/x": "directory; ",
				"e.json":    "", // the text depends on what was expected
				"dir":       "",
			} {
				got := exec(t, "", strings.Fields(strings.ReplaceAll(line, "F", file))...)
				said := ""
				for text := range strings.Lines(got.stderr) {
					if strings.Contains(text, filepath.FromSlash(file)+": ") {
						said += text
					}
				}
				_, after, _ := strings.Cut(said, file)
				switch empty := strings.HasPrefix(line, "tokenize --tokenizer built-in") && file == "e.json"; {
				case empty && got.code == cmdline.ExitOK: // no text is no token
				case got.code != cmdline.ExitError || !strings.Contains(said, want) || strings.Contains(said, " open ") || strings.Contains(said, " stat "):
					t.Errorf("%s with %s: exit code %d, %s", line, file, got.code, got.stderr)
				case strings.Count(said, "\n") != 1 || !strings.ContainsAny(after, ";("):
					t.Errorf("%s with %s says %q; want what to do, once", line, file, said)
				}
			}
		}
	}
	if left, err := filepath.Glob("o*"); err != nil || len(left) != 1 {
		t.Errorf("left: %q, %v", left, err)
	}
}
