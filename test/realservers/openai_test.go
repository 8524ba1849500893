//go:build realservers

package realservers

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOpenAI records chat and text completions of llama.cpp, and with REALSERVERS=all of transformers.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	kinds := []string{"llamacpp"}
	if os.Getenv("REALSERVERS") == "all" {
		kinds = append(kinds, "transformers")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { compareCompletions(t, startOpenAI(t, kind)) })
	}
}

// compareCompletions records chat and text completions, streamed and whole, beside
// perf_analyzer, and has GenAI-Perf read the exports.
func compareCompletions(t *testing.T, s *server) {
	for _, c := range []struct {
		name, endpoint, input string
		tokens                int
		stream                bool
	}{
		{"chat streamed", "v1/chat/completions", `"messages": [{"role": "user", "content": "Say something"}]`, 100, true},
		{"chat whole", "v1/chat/completions", `"messages": [{"role": "user", "content": "Say something"}]`, 24, false},
		{"completions streamed", "v1/completions", `"prompt": "Once upon a time"`, 100, true},
		{"completions whole", "v1/completions", `"prompt": "Once upon a time"`, 24, false},
		{"one token", "v1/chat/completions", `"messages": [{"role": "user", "content": "Say something"}]`, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			prompts := fmt.Sprintf(`{"data": [{"payload": [{"model": "tiny", "stream": %v, "max_tokens": %d, "temperature": 0, "seed": 7, %s}]}]}`,
				c.stream, c.tokens, c.input)
			args := []string{
				"-m", "tiny", "--service-kind", "openai", "--endpoint", c.endpoint, "--async", "-u", s.HTTP,
				"--request-count", "8", "--concurrency-range", "2",
				"--input-data=prompts.json", "--profile-export-file=profile_export.json",
			}
			ours, f := mustRecord(t, prompts, args...)
			for attempt := 2; atOnce(f) && attempt <= 20; attempt++ {
				t.Logf("a whole answer came in one read; attempt %d", attempt)
				ours, f = mustRecord(t, prompts, args...)
			}
			theirs := perfAnalyzer(t, prompts, args...)
			compareShapes(t, ours, theirs)
			checkGenAIPerf(t, ours, f, c.stream)

			want := joinedText(readExport(t, theirs).requests(t, 8)[0])
			checkTexts(t, f, want, c.stream)
			for _, transport := range []string{"loop", "nethttp"} {
				_, f := mustRecord(t, prompts, append(args, "--transport", transport)...)
				checkTexts(t, f, want, c.stream)
			}
		})
	}
}

// checkTexts checks that each of the 8 answers says what perf_analyzer got.
func checkTexts(t *testing.T, f exportFile, want string, stream bool) {
	t.Helper()
	for i, r := range f.requests(t, 8) {
		if d := cmp.Diff(want, joinedText(r)); d != "" {
			t.Errorf("request %d: text (-perf_analyzer +pa-record):\n%s", i, d)
		}
		if !stream && len(r.ResponseTimestamps) != 1 {
			t.Errorf("request %d: %d responses, want 1", i, len(r.ResponseTimestamps))
		}
	}
}

// atOnce reports whether all tokens of a request came in one read, as happens
// on a machine that is too busy to run server and client in turn. They share a
// timestamp then, and GenAI-Perf, whose inter-token latency is 0, divides by
// it and gives the file up.
func atOnce(f exportFile) bool {
	for _, e := range f.Experiments {
		for _, r := range e.Requests {
			n := 0
			for _, out := range r.ResponseOutputs {
				if responseText(out) != "" {
					n++
				}
			}
			if first, last, ok := textSpan(r); ok && n > 1 && first == last {
				return true
			}
		}
	}
	return false
}

// TestOpenAIRefused checks the line that says why nothing was measured.
func TestOpenAIRefused(t *testing.T) {
	t.Parallel()
	const prompts = `{"data": [{"payload": [{"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}]}]}`
	args := func(url, endpoint string) []string {
		return []string{
			"-m", "tiny", "--service-kind", "openai", "--endpoint", endpoint, "-u", url,
			"--request-count", "5", "--input-data=prompts.json", "--profile-export-file=profile_export.json",
		}
	}
	t.Run("nobody there", func(t *testing.T) {
		nobody := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
		dir, r := record(t, prompts, args(nobody, "v1/chat/completions")...)
		checkRefused(t, dir, r, nobody)
	})
	// The server is there, so that only the requests show what is wrong.
	t.Run("no such endpoint", func(t *testing.T) {
		s := startOpenAI(t, "llamacpp")
		_, r := record(t, prompts, args(s.HTTP, "nosuch/chat/completions")...)
		if r.Code != 1 || !strings.Contains(r.Stderr, "404") || !strings.Contains(r.Stderr, "nosuch/chat/completions") {
			t.Errorf("pa-record: %v\nwant exit code 1, and 404 and nosuch/chat/completions in stderr", r)
		}
		_, r = record(t, prompts, args(s.HTTP, "v1/nosuch")...)
		if r.Code != 2 || !strings.Contains(r.Stderr, "--endpoint v1/nosuch: no API is known") {
			t.Errorf("pa-record: %v\nwant exit code 2, and that no API is known", r)
		}
	})
}
