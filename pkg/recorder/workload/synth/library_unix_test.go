//go:build unix

package synth

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// Each of 10,000 made-up prompts of 1024 ± 128 tokens has exactly the length that was drawn for it, as the Hugging Face
// library counts. make test-tokenizers names a Python that has the library, and tokenizers.
func TestLengthsByLibrary(t *testing.T) {
	python := os.Getenv("PA_TEST_PYTHON")
	if python == "" {
		t.Skip("left to make test-tokenizers, because it needs a Python with the library")
	}
	const n = 10_000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // prompts are timed on one thread
	for _, file := range strings.Fields(os.Getenv("PA_TEST_TOKENIZERS")) {
		tok, err := tokenizer.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		start := testenv.CPUTime()
		texts := newTexts(t, tok, 1, "")
		prepared := testenv.CPUTime() - start
		law := Normal{Mean: 1024, Stddev: 128}
		prompts, err := New(Config{Texts: texts, Seed: 1, Input: law, Prompts: n})
		if err != nil {
			t.Fatal(err)
		}
		start = testenv.CPUTime()
		var lines []string // for prompts.py
		bytes := 0
		for k := range n {
			e, err := prompts.At(k)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(map[string]any{"tokens": law.Draw(source(1, forInput, uint64(k))), "text": e.Prompt.Text})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
			bytes += len(e.Prompt.Text)
		}
		made := testenv.CPUTime() - start
		t.Logf("%s: %d prompts, %.1f MB, made in %.2f s of CPU time after %.2f s to prepare", file, n, float64(bytes)/1e6, made.Seconds(), prepared.Seconds())

		list := filepath.Join(t.TempDir(), "prompts.jsonl")
		if err := os.WriteFile(list, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file = filepath.Join(file, "tokenizer.json")
		}
		out, err := exec.Command(python, filepath.Join(golden.Root(t), "test/tokenizers/prompts.py"), file, list).CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
