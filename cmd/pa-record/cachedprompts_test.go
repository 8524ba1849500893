package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// A prefixServer is an OpenAI-compatible server that remembers the prefixes of all prompts,
// word by word, and states how many words of each prompt it knew.
type prefixServer struct {
	seed maphash.Seed

	mu    sync.Mutex
	known map[uint64]bool
}

func newPrefixServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(&prefixServer{seed: maphash.MakeSeed(), known: map[uint64]bool{}})
	t.Cleanup(s.Close)
	return s.URL
}

func (s *prefixServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Content string }
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) == 0 {
		http.NotFound(w, r) // the checks before the load
		return
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	words, cached := 0, 0
	s.mu.Lock()
	for _, m := range body.Messages {
		for word := range strings.FieldsSeq(m.Content) {
			h.WriteString(word)
			h.WriteByte(' ')
			words++
			if s.known[h.Sum64()] {
				cached = words
			}
			s.known[h.Sum64()] = true
		}
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`,
		words, words+1, cached)
}

// cachedShares returns the part of the input tokens of each level that the server had in
// its cache, in percent.
func cachedShares(t *testing.T, path string) (shares []float64, run *export.Run) {
	t.Helper()
	run, _ = exporttest.Read(t, path)
	f, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Experiments []struct {
			Requests []struct {
				Outputs []struct{ Response string } `json:"response_outputs"`
			}
		}
	}
	if err := json.Unmarshal(f, &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range doc.Experiments {
		var all, cached float64
		for _, r := range e.Requests {
			var answer struct {
				Usage struct {
					Prompt  float64 `json:"prompt_tokens"`
					Details struct {
						Cached float64 `json:"cached_tokens"`
					} `json:"prompt_tokens_details"`
				}
			}
			if err := json.Unmarshal([]byte(r.Outputs[0].Response), &answer); err != nil {
				t.Fatal(err)
			}
			all += answer.Usage.Prompt
			cached += answer.Usage.Details.Cached
		}
		shares = append(shares, 100*cached/all)
	}
	return shares, run
}

// promptFiles writes n prompts in several layouts.
func promptFiles(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var lines, rows, share bytes.Buffer
	share.WriteString("[")
	for i := range n {
		text := fmt.Sprintf("w%d %s", i, strings.Repeat(fmt.Sprintf("x%d ", i), 19))
		fmt.Fprintln(&lines, text)
		fmt.Fprintf(&rows, "{\"text\":%q}\n", text)
		if i > 0 {
			share.WriteString(",")
		}
		fmt.Fprintf(&share, `{"id":"%d","conversations":[{"from":"human","value":%q},{"from":"gpt","value":"well then, that is it"}]}`, i, text)
	}
	share.WriteString("]")
	for name, b := range map[string]*bytes.Buffer{"lines.txt": &lines, "rows.jsonl": &rows, "share.json": &share} {
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// By default no level of no run finds the prompts of an earlier one in the server's cache. A
// file that is used up is named, and so is --prompts restart.
func TestNoPromptTwice(t *testing.T) {
	t.Parallel()
	const requests = 10 // × 3 levels × 3 runs
	dir := promptFiles(t, 100)
	file := func(name string) string { return "--input-data " + filepath.Join(dir, name) }
	for _, tt := range []struct {
		name, args string
		cached     bool // in the last level of the last run
	}{
		{"synthetic", "--synthetic-input-tokens-mean 30", false},
		{"synthetic, more than a hundred requests in a level", "--synthetic-input-tokens-mean 40 --request-count 120", false},
		{"built-in, more than a hundred requests in a level", "--request-count 20x", false},
		{"synthetic, used up in a level", "--synthetic-input-tokens-mean 30 --num-dataset-entries 10", false},
		{"built-in", "", false},
		{"text", file("lines.txt"), false},
		{"rows", file("rows.jsonl"), false},
		{"ShareGPT", file("share.json"), false},
		{"shuffled", file("rows.jsonl") + " --dataset-sampling-strategy shuffle", false},
		{"a file that is too short, with a salt", file("lines.txt") + " --num-dataset-entries 10 --cache-bust", false},
		{"a salt and restart", file("lines.txt") + " --cache-bust --prompts restart", false},
		{"warm-up", file("lines.txt") + " --warmup-request-count 1", false},
		{"too short", file("lines.txt") + " --num-dataset-entries 45", true},
		{"restart", file("lines.txt") + " --prompts restart", true},
		{"synthetic restart", "--synthetic-input-tokens-mean 30 --prompts restart", true},
		{"built-in restart", "--prompts restart", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			if !strings.Contains(tt.args, "--request-count") {
				tt.args += fmt.Sprint(" --request-count ", requests)
			}
			args := append(strings.Fields("-m m --service-kind openai --concurrency-range 1,4,16 --repeat 3 --quiet --ui none "+tt.args),
				"-u", newPrefixServer(t), "--profile-export-file", filepath.Join(out, "e.json"))
			code, _, stderr := inProcess(t.Context(), t, args...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			var last float64
			salts := map[string]bool{}
			for i := range 3 {
				shares, run := cachedShares(t, filepath.Join(out, fmt.Sprintf("e.%d.json", i+1)))
				if len(shares) != 3 {
					t.Fatalf("%d levels", len(shares))
				}
				for level, share := range shares {
					if !tt.cached && share >= 5 {
						t.Errorf("run %d, level %d: %.0f %% of the input tokens were cached", i+1, level, share)
					}
				}
				for level := range run.Experiments {
					p := run.Experiments[level].Meta.Prompts
					if p == nil || p.Of == 0 {
						t.Fatalf("run %d, level %d: prompts %+v", i+1, level, p)
					}
					salts[p.CacheSalt] = true
				}
				last = shares[2]
			}
			if want := strings.Contains(tt.args, "--cache-bust"); len(salts) != 1 && !want || want && (len(salts) != 9 || salts[""]) {
				t.Errorf("salts %v; want one for each level of each run only with --cache-bust", salts)
			}
			if tt.cached && last < 80 {
				t.Errorf("the last level found %.0f %% of its input tokens in the cache, want nearly all", last)
			}
			if want := "warning: run 1 of 3: concurrency 4, 16: 100 % of the input tokens were in the server's cache: they were sent at concurrency 1; send others"; strings.Contains(stderr, want) != strings.Contains(tt.name, "restart") && tt.name != "a salt and restart" {
				t.Errorf("a warning %q: %v\n%s", want, strings.Contains(stderr, want), stderr)
			}
			again := strings.Contains(stderr, "note: run 3 of 3: the input data has only 45 prompts and began again: concurrency 1, concurrency 4, concurrency 16 sent 30 prompts again")
			if want := tt.name == "too short"; again != want || strings.Contains(stderr, "began again") != want {
				t.Errorf("a note that the data began again: %v, want %v\n%s", again, want, stderr)
			}
		})
	}
}

// A level that has fewer prompts than requests is named.
func TestPromptsTwiceInALevel(t *testing.T) {
	t.Parallel()
	code, _, stderr := inProcess(t.Context(), t, "-m", "m", "--service-kind", "openai", "-u", newPrefixServer(t), "--request-count", "30",
		"--synthetic-input-tokens-mean", "40", "--num-dataset-entries", "10", "--quiet", "--profile-export-file", filepath.Join(t.TempDir(), "e.json"))
	if want := "note: concurrency 1: 67 % of the input tokens were in the server's cache, because the level sent prompts more than once; "; code != 0 || !strings.Contains(stderr, want) || strings.Count(stderr, "server's cache") != 1 {
		t.Errorf("exit code %d, want %q and no warning about it:\n%s", code, want, stderr)
	}
}

// The same command sends the same requests; so do the servers of one repetition.
func TestFreshPromptsAreRepeatable(t *testing.T) {
	t.Parallel()
	sent := func(args ...string) (all []string) {
		out := t.TempDir()
		code, _, stderr := inProcess(t.Context(), t, append(args, "-m", "m", "--service-kind", "openai", "--concurrency-range", "1,3", "--repeat", "2",
			"--request-count", "5", "--quiet", "--profile-export-file", filepath.Join(out, "e.json"))...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		files, _ := filepath.Glob(filepath.Join(out, "e.*.json"))
		for _, f := range files {
			_, requests := exporttest.Read(t, f)
			slices.SortFunc(requests, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
			text := ""
			for i := range requests {
				payload, _ := requests[i].Inputs.Get("payload")
				text += string(payload.Data)
			}
			all = append(all, text)
		}
		return all
	}
	const sim = "sim://?ttft=1ms&itl=1ms&output_tokens=2"
	for _, data := range [][]string{{}, {"--synthetic-input-tokens", "9"}, {"--synthetic-input-tokens", "9", "--cache-salt", "x"}} {
		a, b := sent(append(data, "-u", sim)...), sent(append(data, "-u", sim)...)
		if len(a) != 2 || a[0] == a[1] || !slices.Equal(a, b) {
			t.Errorf("%v: the second command sent other requests, or the second run the same", data)
		}
		if both := sent(append(data, "-u", "a="+sim, "-u", "b="+sim)...); !slices.Equal(both, slices.Concat(a, a)) {
			t.Errorf("%v: the servers of a repetition got different requests", data)
		}
		if both := sent(append(data, "-u", "a="+sim, "-u", "b="+sim, "--interleave", "--random-seed", "0")...); both[0] != both[2] || both[1] != both[3] || both[0] == both[1] {
			t.Errorf("%v, interleaved: the servers of a repetition got different requests", data)
		}
	}
}
