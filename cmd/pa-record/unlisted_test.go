package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// A gateway is an OpenAI server whose list of models need not be what it answers.
type gateway struct {
	list    []string                // of GET /v1/models
	refuses func(model string) bool // nil: it answers every name

	mu    sync.Mutex
	asked []string // the models of the requests, each once
}

// ServeHTTP answers a request with two tokens, streamed or not, in a body that fits
// chat and completions.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		var all []map[string]string
		for _, name := range g.list {
			all = append(all, map[string]string{"id": name})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": all})
		return
	}
	var q struct {
		Model  string
		Stream bool
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	if !slices.Contains(g.asked, q.Model) {
		g.asked = append(g.asked, q.Model)
	}
	g.mu.Unlock()
	if g.refuses != nil && g.refuses(q.Model) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"message":"The model %s does not exist."}}`, q.Model)
		return
	}
	if !q.Stream {
		fmt.Fprint(w, `{"choices":[{"text":"a b","message":{"content":"a b"}}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range 2 {
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" a\",\"delta\":{\"content\":\" a\"}}]}\n\n")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// A model that the server does not list is sent as it was given, with one warning;
// when the server refuses it, its own message comes with the list.
func TestUnlistedModel(t *testing.T) {
	t.Parallel()
	notTheGiven := func(given string) func(string) bool {
		return func(model string) bool { return model == given }
	}
	for _, tt := range []struct {
		name, model string
		list        []string
		refuses     func(string) bool
		warning     string // after "/v1/models "; "" is none
		err         string // the end of the last line; "" is none
	}{
		{name: "LiteLLM lists a pattern", model: "openai/gpt-4o", list: []string{"openai/*"}},
		{
			name: "Azure lists base models, and is asked for a deployment", model: "my-gpt4-deployment", list: []string{"gpt-4o", "gpt-4o-mini"},
			warning: `does not list model "my-gpt4-deployment"; it lists "gpt-4o", "gpt-4o-mini"; pa-record sends "my-gpt4-deployment" anyway`,
		},
		{
			name: "OpenRouter takes variants of what it lists", model: "meta-llama/llama-3:nitro", list: []string{"meta-llama/llama-3"},
			warning: `does not list model "meta-llama/llama-3:nitro"; it lists "meta-llama/llama-3"; pa-record sends "meta-llama/llama-3:nitro" anyway`,
		},
		{
			name: "trtllm-serve lists the base name of a path", model: "/path/to/llama3.1_70B", list: []string{"llama3.1_70B"},
			warning: `does not list model "/path/to/llama3.1_70B", but its base name "llama3.1_70B"; pa-record sends "/path/to/llama3.1_70B" anyway; if the server refuses it, give --model llama3.1_70B`,
		},
		{
			name: "llama.cpp answers any name", model: "gpt2", list: []string{"tiny.gguf"},
			warning: `does not list model "gpt2"; it lists "tiny.gguf"; pa-record sends "gpt2" anyway`,
		},
		{
			name: "the server refuses the name", model: "x", list: []string{"a", "b", "c", "d", "e", "f", "g"}, refuses: notTheGiven("x"),
			warning: `does not list model "x"; it lists "a", "b", "c", "d", "e" and 2 more; pa-record sends "x" anyway`,
			err:     `requests failed: http_error 404: The model x does not exist.; the server lists "a", "b", "c", "d", "e" and 2 more; choose one with --model`,
		},
		{
			name: "the server refuses a name that it lists", model: "a", list: []string{"a"}, refuses: notTheGiven("a"),
			err: `requests failed: http_error 404: The model a does not exist.; are --endpoint (v1/chat/completions) and the model right?`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &gateway{list: tt.list, refuses: tt.refuses}
			server := httptest.NewServer(g)
			defer server.Close()
			out := filepath.Join(t.TempDir(), "e.json")
			code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-u", server.URL, "-m", tt.model, "--streaming",
				"--request-count", "6", "--repeat", "2", "--quiet", "--profile-export-file", out)
			var warnings, want []string
			for line := range strings.Lines(stderr) {
				if text, ok := strings.CutPrefix(line, "pa-record: warning: "+server.URL); ok {
					warnings = append(warnings, strings.TrimSpace(strings.TrimPrefix(text, "/v1/models ")))
				}
			}
			if tt.warning != "" {
				want = []string{tt.warning}
			}
			if d := cmp.Diff(want, warnings); d != "" {
				t.Errorf("warnings of two runs (-want +got):\n%s", d)
			}
			if tt.err == "" && code != 0 || tt.err != "" && (code != 1 || !strings.HasSuffix(stderr, tt.err+"\n")) {
				t.Errorf("exit code %d, want an end with %q:\n%s", code, tt.err, stderr)
			}
			if d := cmp.Diff([]string{tt.model}, g.asked); d != "" {
				t.Errorf("models asked (-want +got):\n%s", d)
			}
			if tt.err != "" {
				return
			}
			for _, n := range []string{"1", "2"} {
				run, _ := exporttest.Read(t, strings.Replace(out, "e.json", "e."+n+".json", 1))
				var kept []string
				for _, text := range run.Meta.Warnings {
					kept = append(kept, strings.TrimPrefix(text, server.URL+"/v1/models "))
				}
				if d := cmp.Diff(want, kept); d != "" {
					t.Errorf("warnings in the export of run %s (-want +got):\n%s", n, d)
				}
			}
		})
	}
}

// openAICommand matches the command lines of the documents' scripts that go to an
// OpenAI server.
var openAICommand = regexp.MustCompile(`(?m)^pa-record (genai-perf .*--service-kind openai .*)$`)

// simulatedURL matches the address that the scripts put in the place of the
// document's own.
var simulatedURL = regexp.MustCompile(`"?sim://[^"\s]*"?`)

// The documents' command lines for OpenAI servers run against servers whose lists
// lack the name on the command line.
func TestDocumentsUnlisted(t *testing.T) {
	var lines []string
	for _, name := range []string{"genai_perf_readme", "genai_perf_tutorial"} {
		script, err := os.ReadFile("testdata/documents/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range openAICommand.FindAllStringSubmatch(string(script), -1) {
			lines = append(lines, m[1])
		}
	}
	script, err := os.ReadFile("testdata/documents/trtllm_serve.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, bench, ok := strings.Cut(string(script), "    pa-record ")
	bench, _, done := strings.Cut(bench, "\ndone")
	if !ok || !done || len(lines) < 5 {
		t.Fatalf("%d command lines of GenAI-Perf, of bench.sh %q", len(lines), bench)
	}
	lines = append(lines, strings.NewReplacer("\\\n", "", "${model_path}", "/path/to/llama3.1_70B", "${isl}", "1024", "${osl}", "1024", "${num_prompts}", "5",
		"${concurrency}", "1", "${result_dir}", "llama3.1_output", `"`, "").Replace(bench))
	env := map[string]string{"HF_ENDPOINT": standInHub(t).URL, "HF_HOME": t.TempDir()}
	for i, line := range lines {
		if i%testenv.Stride(3) > 0 && i+1 < len(lines) {
			continue // make test takes one command line in three, and bench.sh
		}
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			g := &gateway{list: []string{"llama3.1_70B"}}
			server := httptest.NewServer(g)
			defer server.Close()
			args := strings.Fields(simulatedURL.ReplaceAllString(line, server.URL))
			code, _, stderr := inProcessWith(t.Context(), t, env, args...)
			if n := strings.Count(stderr, "/v1/models does not list model "); code != 0 || n != 1 {
				t.Errorf("exit code %d, %d warnings about the list:\n%s", code, n, stderr)
			}
			if len(g.asked) != 1 || !slices.Contains(args, g.asked[0]) {
				t.Errorf("models asked: %q", g.asked)
			}
		})
	}
}
