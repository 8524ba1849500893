package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pa-tools/pa/cmd/pa-record/frontend"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// The benchmark command lines of the documents that people have them from run, and
// what is printed for them does the same. Each script is a document.
func TestDocuments(t *testing.T) {
	hub := standInHub(t)
	concurrencies := "1 4" // of the loop in bench.sh
	if testenv.IsLong() {
		concurrencies = "1 2 4 8 16 32 64 128 256" // as in the document
	}
	eachScript(t, testscript.Params{
		Dir: "testdata/documents",
		Setup: func(e *testscript.Env) error {
			e.Setenv("OPENAI_API_KEY", "")
			e.Setenv("HF_ENDPOINT", hub.URL)
			e.Setenv("HF_HOME", filepath.Join(e.WorkDir, "hf"))
			e.Setenv("concurrency_list", concurrencies)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"canonical": canonicalScript, "bodies": compareBodies,
		},
	})
}

// standInHub serves a tokenizer, our own, under the names that the documents have
// theirs by, but for gpt2.
func standInHub(t *testing.T) *httptest.Server {
	t.Helper()
	tokenizer, err := os.ReadFile("../../pkg/tokenizer/builtin/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hf-internal-testing/llama-tokenizer/resolve/main/tokenizer.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Repo-Commit", "0123456789abcdef0123456789abcdef01234567")
		w.Header().Set("ETag", `"abc"`)
		_, _ = w.Write(tokenizer)
	}))
	t.Cleanup(s.Close)
	return s
}

// canonicalScript is the command "canonical FILE". It writes the first equivalent command on the
// standard error of the last program into a file, for a shell.
func canonicalScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: canonical FILE")
	}
	_, after, ok := strings.Cut(ts.ReadFile("stderr"), ": equivalent command:\n")
	if !ok {
		ts.Fatalf("standard error has no command")
	}
	var script strings.Builder
	for line := range strings.Lines(after) {
		script.WriteString(line)
		if !strings.HasSuffix(line, "\\\n") {
			break
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(script.String()), 0o600))
}

// compareBodies is the command "bodies N A B": the first N requests of both exports
// hold the same, in the order in which they were sent.
func compareBodies(ts *testscript.TestScript, neg bool, args []string) {
	var n int
	if neg || len(args) != 3 {
		ts.Fatalf("usage: bodies N A B")
	}
	if _, err := fmt.Sscan(args[0], &n); err != nil {
		ts.Fatalf("bodies: %v", err)
	}
	a, b := sentBodies(ts, args[1]), sentBodies(ts, args[2])
	if len(a) < n || len(b) < n {
		ts.Fatalf("%d and %d requests, want %d", len(a), len(b), n)
	}
	for i := range n {
		if a[i] != b[i] {
			ts.Fatalf("request %d is\n%s\nand\n%s", i, a[i], b[i])
		}
	}
}

// sentBodies returns what the requests of an export held, the first one first.
func sentBodies(ts *testscript.TestScript, path string) []string {
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(context.Background(), ts.MkAbs(path))
	ts.Check(err)
	defer r.Close()
	type request struct {
		at   uint64
		body string
	}
	var all []request
	for r.Next() {
		q := r.Request()
		var b strings.Builder
		for _, in := range q.Inputs {
			fmt.Fprintf(&b, "%s=%s\n", in.Name, in.Value.Data)
		}
		all = append(all, request{q.StartNS, b.String()})
	}
	ts.Check(r.Err())
	slices.SortFunc(all, func(x, y request) int { return int(int64(x.at - y.at)) })
	var bodies []string
	for _, q := range all {
		bodies = append(bodies, q.body)
	}
	return bodies
}

// Command lines of GenAI-Perf give the requests that its releases send, except for the prompts. The
// expected requests come from the releases' own code: see frontend/testdata/genaiperf.
func TestGenAIPerfBodies(t *testing.T) {
	env := map[string]string{"HF_ENDPOINT": standInHub(t).URL, "HF_HOME": t.TempDir()}
	f, err := os.Open("frontend/testdata/genaiperf/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			Release  string
			Args     []string
			N        int
			Requests []map[string]any
			Error    string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cmd, err := frontend.GenAIPerf().Parse(append([]string{"--release", c.Release}, c.Args...))
		if err != nil || c.Error != "" {
			continue // frontend's own tests say when that is right
		}
		if n++; n%testenv.Stride(8) > 0 {
			continue
		}
		t.Run(c.Release+" "+strings.Join(c.Args, " "), func(t *testing.T) {
			t.Parallel()
			if i := slices.Index(cmd.Args, "--default-tokenizer"); slices.Contains(c.Args, "tensorrtllm_engine") {
				cmd.Args[i], cmd.Args[i+1] = "--tokenizer", "built-in" // the model's own is not to be had
			}
			code, stdout, stderr := inProcessWith(t.Context(), t, env, append([]string{"inputs"}, cmd.Args...)...)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			var got struct{ Data []map[string]any }
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Data) != c.N {
				t.Errorf("%d requests, GenAI-Perf makes %d", len(got.Data), c.N)
			}
			for _, want := range c.Requests {
				if d, ok := want["delay"].([]any); ok && d[0] == 0.0 {
					delete(want, "delay") // none is not said
				}
			}
			for i, want := range c.Requests[:min(len(c.Requests), len(got.Data))] {
				if _, ok := want["input_ids"]; ok {
					knownTokens(t, want, got.Data[i])
				}
				if !alike(want, got.Data[i]) {
					t.Errorf("request %d is %v, GenAI-Perf's %v", i, got.Data[i], want)
				}
			}
		})
	}
	if n < 40 {
		t.Errorf("%d command lines, want all that are taken", n)
	}
}

// knownTokens puts the tokens of a made-up prompt, of which there are 550, in the
// place of the tokens of the text PROMPT. The model's name, which the engine's requests
// lack, is no tensor.
func knownTokens(t *testing.T, want, got map[string]any) {
	t.Helper()
	ids, _ := got["input_ids"].(map[string]any)
	content, _ := ids["content"].([]any)
	if len(content) != 550 {
		t.Errorf("%d tokens, want 550", len(content))
	}
	delete(got, "model")
	want["input_ids"] = map[string]any{"content": content, "shape": []any{550.0}}
	want["input_lengths"] = []any{550.0}
}

// alike reports whether two JSON values are equal, but for texts where want has
// PROMPT, contents where it has IMAGE or SOUND, and names of sessions.
func alike(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		other, ok := got.(map[string]any)
		if !ok || len(want) != len(other) {
			return false
		}
		for k, v := range want {
			if g, there := other[k]; !there || k != "session_id" && !alike(v, g) {
				return false
			}
		}
		return true
	case []any:
		other, ok := got.([]any)
		return ok && slices.EqualFunc(want, other, alike)
	case string:
		text, _ := got.(string)
		switch before, _, isImage := strings.Cut(want, "IMAGE"); {
		case isImage: // or several, behind each other
			return strings.HasPrefix(text, before) && strings.Count(text, ";base64,") == strings.Count(want, "IMAGE")
		case want == "SOUND":
			return strings.HasPrefix(text, "UklGR") // RIFF, and a length
		case strings.Contains(want, "PROMPT"):
			return text != ""
		}
	}
	return reflect.DeepEqual(want, got)
}
