package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
)

// recordedSessions are files of sessions whose requests hold their histories, by layout.
var recordedSessions = map[string]string{
	"lmcache": `{"session_id":"l","model":"m","input":[{"role":"user","content":"hi <b>"}],"output_length":20,"pre_gap":0.7}
{"session_id":"k","model":"n","input":[{"role":"user","content":"other"}],"output_length":5,"pre_gap":0}
{"session_id":"l","model":"m","input":[{"role":"user","content":"hi <b>"},{"role":"assistant","content":"ho"},{"role":"user","content":"more"}],"output_length":10,"pre_gap":0.02,"temperature":0.5}
`,
	"mlperf_agentic": `{"conversation_id":"c","turn":1,"role":"user","content":"fix it","system":"You code."}
{"conversation_id":"c","turn":2,"role":"assistant","tool_calls":[{"id":"k","type":"function","function":{"name":"ls","arguments":"{}"}}]}
{"conversation_id":"c","turn":3,"role":"tool","tool_results":[{"tool_call_id":"k","content":"a.go"}],"delay_seconds":0.01}
`,
	"weka": `{"id":"w7","models":["big","small"],"block_size":64,"hash_id_scope":"local","tool_tokens":64,"system_tokens":64,"requests":[` +
		`{"t":0,"type":"s","model":"big","in":200,"out":7,"hash_ids":[1,2,3],"api_time":0.02,"think_time":null,"ttft":0.006},` +
		`{"t":0.025,"type":"subagent","agent_id":"a1","subagent_type":"Explore","status":"completed","requests":[{"t":0.026,"type":"n","model":"small","in":130,"out":2,"hash_ids":[1,9],"api_time":0.009}]},` +
		`{"t":0.05,"type":"s","model":"big","in":390,"out":4,"hash_ids":[1,2,3,4,5,6],"api_time":0.015,"think_time":0.015}]}
`,
	"dag_jsonl": `{"session_id":"p","context_mode":"message_array_with_responses","turns":[{"messages":[{"role":"user","content":"plan"}],"spawns":[{"children":["q"],"join_at":1}]},{"messages":[{"role":"user","content":"merge"}],"delay":2}]}
{"session_id":"q","context_mode":"message_array_with_responses","turns":[{"messages":[{"role":"user","content":"look"}],"max_tokens":3}]}
`,
}

// whims is a server that answers chats with random texts, and keeps their bodies.
type whims struct {
	mu     sync.Mutex
	random *rand.Rand
	bodies []string
}

func (s *whims) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	text := strings.Repeat("word ", s.random.IntN(9))
	if len(body) > 0 {
		s.bodies = append(s.bodies, string(body))
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, text)
}

// Of recorded sessions the same bytes are sent, whatever the server answers.
func TestRecordedHistory(t *testing.T) {
	t.Parallel()
	for name, text := range recordedSessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, dir, "in.jsonl", text)
			var first []string
			for seed := range uint64(2) {
				s := &whims{random: rand.New(rand.NewPCG(seed, 1))}
				server := httptest.NewServer(s)
				code, _, stderr := inProcess(t.Context(), t, "-u", server.URL, "--service-kind", "openai", "-m", "m", "--session-concurrency", "2", "--input-data", file,
					"--quiet", "--profile-export-file", filepath.Join(dir, fmt.Sprintf("%d.json", seed)))
				server.Close()
				if code != 0 {
					t.Fatalf("exit code %d:\n%s", code, stderr)
				}
				slices.Sort(s.bodies)
				if first == nil {
					first = s.bodies
				}
				if len(s.bodies) < 2 || !slices.Equal(s.bodies, first) {
					t.Errorf("sent\n%s\nto another server\n%s", strings.Join(s.bodies, "\n"), strings.Join(first, "\n"))
				}
			}
		})
	}
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sessionLines describes the sessions of a file: what each request waits for, and what is sent.
func sessionLines(t *testing.T, path string) []string {
	t.Helper()
	set, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	all, ok := set.AsSessions()
	if !ok {
		t.Fatalf("%s holds no sessions", path)
	}
	b, err := openai.New(openai.Config{URL: "localhost:1", Model: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for k := range all.Sessions() {
		s, err := all.Open(k)
		if err != nil {
			t.Fatal(err)
		}
		names, turns := make([]string, len(s.Nodes)), map[int]int{}
		thinks := make([]int64, len(s.Nodes))
		for i, n := range s.Nodes {
			id := "root"
			if n.Agent > 0 {
				id = s.Agents[n.Agent].ID
			}
			names[i] = fmt.Sprintf("%s %s:%d", s.ID, id, turns[n.Agent])
			turns[n.Agent]++
			e, err := s.Entry(i)
			if err != nil {
				t.Fatal(err)
			}
			thinks[i] = int64(e.Delay)
			p, err := b.Prepare(&e)
			if err != nil {
				t.Fatal(err)
			}
			var after []string
			for _, edge := range n.After {
				after = append(after, fmt.Sprintf("%s+%d(%d)", names[edge.From], int64(edge.Delay)+thinks[edge.From], edge.Anchor))
			}
			slices.Sort(after)
			line := fmt.Sprintf("%s after %v", names[i], after)
			if n.Continues >= 0 {
				line += " on " + names[n.Continues]
			}
			payload, _ := p.Inputs().Get("payload")
			lines = append(lines, line+" whole:"+fmt.Sprint(e.Whole)+" "+sortedMembers(t, payload.Data))
		}
		for i, a := range s.Agents {
			lines = append(lines, fmt.Sprintf("%s agent %d: %s of %d, %d", s.ID, i, a.ID, a.Parent, a.Kind))
		}
	}
	slices.Sort(lines)
	return lines
}

// sortedMembers returns a JSON object with its members in order.
func sortedMembers(t *testing.T, js []byte) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(js, &all); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What "pa-record inputs" writes of sessions is read again as the same sessions.
func TestWrittenSessions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, layout string }{
		{"a line of whole requests", recordedSessions["lmcache"], "lmcache"},
		{"recorded messages", recordedSessions["mlperf_agentic"], "lmcache"},
		{"whole requests of agents", recordedSessions["dag_jsonl"], "dag_jsonl"},
		{"live forks, spawns, joins and the background", `{"session_id":"p","pre_session_spawns":["early"],"turns":[{"messages":[{"role":"user","content":"a"}],"max_tokens":9,"forks":["f"],"spawns":[{"children":["s","b"],"join_at":2},{"children":["bg"],"background":true}]},{"messages":[{"role":"user","content":"c"}],"delay":1.5,"tools":[{"type":"function","function":{"name":"x"}}]},{"messages":[{"role":"user","content":"d"}],"delay":200,"extra":{"top_k":3}}]}
{"session_id":"f","turns":[{"messages":[{"role":"user","content":"fork"}],"delay":5},{"messages":[{"role":"user","content":"fork 2"}]}]}
{"session_id":"s","turns":[{"messages":[{"role":"system","content":"other"},{"role":"user","content":"s"}],"spawns":["deep"]},{"messages":[{"role":"user","content":"s2"}]}]}
{"session_id":"b","turns":[{"messages":[{"role":"user","content":"b"}],"delay":7}]}
{"session_id":"bg","turns":[{"messages":[{"role":"user","content":"bg"}]}]}
{"session_id":"deep","turns":[{"messages":[{"role":"user","content":"deep"}]}]}
{"session_id":"early","turns":[{"messages":[{"role":"user","content":"early"}]}]}
{"session_id":"alone","turns":[{"messages":[{"role":"user","content":"alone"}]}]}
`, "dag_jsonl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := writeFile(t, dir, "in.jsonl", tt.in)
			code, out, stderr := inProcess(t.Context(), t, "inputs", "--service-kind", "openai", "--input-data", in)
			if code != 0 {
				t.Fatalf("exit code %d:\n%s", code, stderr)
			}
			again := writeFile(t, dir, "again.jsonl", out)
			set, err := dataset.Open(t.Context(), []string{again}, dataset.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			layout := set.Files()[0].Layout
			set.Close()
			if layout != tt.layout {
				t.Errorf("written as %s, want %s:\n%s", layout, tt.layout, out)
			}
			if want, got := sessionLines(t, in), sessionLines(t, again); !slices.Equal(got, want) {
				t.Errorf("read again as\n%s\nwant\n%s\nwritten:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
			}
		})
	}
}

// The hashes of sessions tell apart what is sent, and nothing else: neither the name of a file nor what the requests do not depend on.
func TestSessionHashes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recorded, made := writeFile(t, dir, "l.jsonl", recordedSessions["lmcache"]), writeFile(t, dir, "w.jsonl", recordedSessions["weka"])
	copied := writeFile(t, dir, "copy.jsonl", recordedSessions["lmcache"])
	hashes := func(args ...string) (data, prompts string) {
		path := filepath.Join(dir, "out.json")
		all := []string{
			"-u", "sim://?ttft=1ms&itl=100us&output_tokens=1", "--service-kind", "openai", "-m", "m", "--session-concurrency", "2", "--session-delay-ratio", "0",
			"--quiet", "--profile-export-file", path, "--overwrite",
		}
		if code, _, stderr := inProcess(t.Context(), t, append(all, args...)...); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, stderr)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var x struct {
			PA struct {
				Data    string `json:"dataset_sha256"`
				Prompts string `json:"prompts_sha256"`
			} `json:"pa"`
		}
		if err := json.Unmarshal(text, &x); err != nil || x.PA.Data == "" || x.PA.Prompts == "" {
			t.Fatalf("no hashes: %v", err)
		}
		return x.PA.Data, x.PA.Prompts
	}
	for _, tt := range []struct {
		name          string
		file          string
		args          []string
		data, prompts bool // they are as without the flags
	}{
		{"a copy", copied, nil, true, true},
		{"a seed of nothing", recorded, []string{"--random-seed", "5"}, true, true},
		{"a parameter", recorded, []string{"--extra-body", `{"temperature":0.5}`}, false, true},
		{"fewer sessions", recorded, []string{"--num-dataset-entries", "1"}, false, false},
		{"another beginning", recorded, []string{"--cache-salt", "x"}, false, false},
		{"a seed of texts", made, []string{"--random-seed", "5"}, false, false},
	} {
		of := recorded
		if tt.file == made {
			of = made
		}
		data, prompts := hashes("--input-data", of)
		otherData, otherPrompts := hashes(append(tt.args, "--input-data", tt.file)...)
		if (data == otherData) != tt.data || (prompts == otherPrompts) != tt.prompts {
			t.Errorf("%s: equal hashes of the data: %v, of the prompts: %v; want %v, %v", tt.name, data == otherData, prompts == otherPrompts, tt.data, tt.prompts)
		}
	}
}
