//go:build unix

package tokenizer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// The Hugging Face library counts the same tokens of the corpus, in documents of some 2,000 bytes. The test prints the
// pace of both, on one thread each and of CPU time, which hardly depends on what else the machine does: cold is the first
// time that a tokenizer sees the text, warm the best of three times after it. make bench-tokenizers names a Python
// that has the library, and tokenizers.
func TestPaceBesideLibrary(t *testing.T) {
	python := os.Getenv("PA_TEST_PYTHON")
	if python == "" {
		t.Skip("left to make bench-tokenizers, because it needs a Python with the library")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	corpus, err := os.ReadFile("builtin/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(strings.Repeat(string(corpus), 10), 2000)
	var lines []string
	for _, d := range docs {
		line, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	docFile := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(docFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents, %.1f MB", len(docs), float64(10*len(corpus))/1e6)
	for _, file := range strings.Fields(os.Getenv("PA_TEST_TOKENIZERS")) {
		start := testenv.CPUTime()
		tok, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		loaded, tokens := testenv.CPUTime()-start, 0
		pace := func() float64 {
			start := testenv.CPUTime()
			tokens = 0
			for _, d := range docs {
				tokens += tok.Count(d)
			}
			return float64(10*len(corpus)) / (testenv.CPUTime() - start).Seconds() / 1e6
		}
		cold := pace()
		warm := slices.Max([]float64{pace(), pace(), pace()})
		t.Logf("%s: loaded in %v; %d tokens; cold %.1f MB/s, warm %.1f MB/s", file, loaded.Round(time.Millisecond), tokens, cold, warm)
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file = filepath.Join(file, "tokenizer.json")
		}
		out, err := exec.Command(python, filepath.Join(golden.Root(t), "test/tokenizers/library.py"), file, docFile).Output()
		if err != nil {
			t.Fatalf("%s: %v", python, err)
		}
		var library struct {
			Tokens int
			MBPerS map[string]float64 `json:"mb_per_s"`
		}
		if err := json.Unmarshal(out, &library); err != nil {
			t.Fatal(err)
		}
		if library.Tokens != tokens {
			t.Errorf("%s: %d tokens, the library counts %d", file, tokens, library.Tokens)
		}
		for _, name := range []string{"encode", "encode_batch_fast"} {
			theirs := library.MBPerS[name]
			t.Logf("  the library's %s: %.1f MB/s; cold %.1f times as fast, warm %.1f times", name, theirs, cold/theirs, warm/theirs)
		}
	}
}

// documents cuts text into parts of some n bytes, at blanks where there are any.
func documents(text string, n int) []string {
	var docs []string
	for len(text) > n {
		end := n
		if at := strings.LastIndexByte(text[:n], ' '); at > 0 {
			end = at
		}
		for !utf8.RuneStart(text[end]) {
			end--
		}
		docs = append(docs, text[:end])
		text = text[end:]
	}
	return append(docs, text)
}
