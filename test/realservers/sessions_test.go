//go:build realservers

package realservers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// A chatMessage is a message of a prompt.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func say(role, word string, times int) chatMessage {
	return chatMessage{role, strings.Repeat(" "+word, times)}
}

// recordedSessions returns three sessions with one system prompt, as LMCache's rows. The first grows, begins anew from the
// system prompt, and goes back to what it was before; the third repeats the second.
func recordedSessions(t *testing.T) string {
	t.Helper()
	system := say("system", "the", 40)
	first := []chatMessage{system, say("user", "west", 20)}
	second := append(slices.Clone(first), say("assistant", "plea", 10), say("user", "trou", 15))
	third := append(slices.Clone(second), say("assistant", "plea", 12), say("user", "shar", 9))
	reset := []chatMessage{system, say("user", "hust", 14)}
	after := append(slices.Clone(reset), say("assistant", "plea", 7), say("user", "west", 5))
	back := append(slices.Clone(third), say("assistant", "plea", 6), say("user", "drav", 8))
	other := []chatMessage{system, say("user", "plai", 11)}
	var lines strings.Builder
	for _, row := range []struct {
		id    string
		input []chatMessage
	}{{"a", first}, {"a", second}, {"a", third}, {"a", reset}, {"a", after}, {"a", back}, {"b", other}, {"c", other}} {
		line, err := json.Marshal(map[string]any{"session_id": row.id, "input": row.input, "output_length": 6, "pre_gap": 0})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

// liveSession returns a session of AIPerf's dag_jsonl whose history has the live answers: two forks, and a spawned agent that the
// last turn waits for.
func liveSession(t *testing.T) string {
	t.Helper()
	type turn map[string]any
	says := func(m ...chatMessage) turn { return turn{"messages": m, "max_tokens": 6} }
	first := says(say("system", "and", 40), say("user", "west", 20))
	first["forks"] = []string{"f1", "f2"}
	second := says(say("user", "trou", 9))
	second["spawns"] = []any{map[string]any{"children": []string{"k"}, "join_at": 2}}
	var lines strings.Builder
	for _, c := range []struct {
		id    string
		turns []turn
	}{
		{"p", []turn{first, second, says(say("user", "shar", 7))}},
		{"f1", []turn{says(say("user", "hust", 8)), says(say("user", "drav", 4))}},
		{"f2", []turn{says(say("user", "plai", 8))}},
		{"k", []turn{says(say("system", "to", 30), say("user", "west", 5)), says(say("user", "hust", 6))}},
	} {
		line, err := json.Marshal(map[string]any{"session_id": c.id, "turns": c.turns})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

// A chatTemplate turns messages into the text that the model reads.
type chatTemplate func([]chatMessage) string

// texts is the template "{% for m in messages %}{{ m.content }}{% endfor %}", which adds nothing.
func texts(messages []chatMessage) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content)
	}
	return b.String()
}

// chatML is the template of the tiny model.
func chatML(messages []chatMessage) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("<|im_start|>" + m.Role + "\n" + m.Content + "<|im_end|>\n")
	}
	return b.String() + "<|im_start|>assistant\n"
}

// A cachedRequest is what a server and pa-analyze say of a request, and its tokens.
type cachedRequest struct {
	ID       uint64
	Session  string `json:"session_id"`
	Agent    string
	Turn     int
	Input    int `json:"input_tokens"`
	Output   int `json:"output_tokens"`
	Cached   int `json:"cached_tokens"`
	Prompt   int `json:"prompt_tokens"` // without a template
	Possible int `json:"possible_cached_tokens"`

	start, first, end uint64
	prompt            []uint32
	whole             []uint32 // prompt and answer
}

// cachedRequests returns the requests of an export in the order in which their first tokens came: that in which a server with one
// slot served them. -1 stands for a number that is not known.
func cachedRequests(t *testing.T, path string, tok *tokenizer.Tokenizer, render chatTemplate, model string) []*cachedRequest {
	t.Helper()
	sent := map[uint64]requestFile{}
	for _, r := range readExport(t, path).requests(t, 1) {
		sent[r.PA.ID] = r
	}
	var all []*cachedRequest
	for line := range strings.Lines(analyze(t, "requests", "--metrics", "sessions,prefix", "--tokenizer", model, "--format", "jsonl", path)) {
		r := &cachedRequest{Input: -1, Output: -1, Cached: -1, Prompt: -1, Possible: -1}
		if err := json.Unmarshal([]byte(line), r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		q, ok := sent[r.ID]
		if !ok || min(r.Input, r.Output, r.Cached, r.Prompt, r.Possible) < 0 {
			t.Fatalf("a request that is not in the export, or without one of its numbers: %s", line)
		}
		var body struct{ Messages []chatMessage }
		if err := json.Unmarshal([]byte(q.RequestInputs.text("payload")), &body); err != nil {
			t.Fatalf("request %d: %v", r.ID, err)
		}
		r.start, r.first, r.end = q.Timestamp, q.ResponseTimestamps[0], q.ResponseTimestamps[len(q.ResponseTimestamps)-1]
		r.prompt = tok.Encode(render(body.Messages))
		answer := tok.Encode(joinedText(q))
		if len(r.prompt) != r.Input || len(answer) != r.Output {
			t.Errorf("request %d: %d tokens, answered with %d; the server says %d and %d", r.ID, len(r.prompt), len(answer), r.Input, r.Output)
		}
		r.whole = slices.Concat(r.prompt, answer)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *cachedRequest) int { return cmp.Compare(a.first, b.first) })
	return all
}

// common returns the number of tokens at the beginning of both.
func common(a, b []uint32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// A cachingServer is a server whose cached tokens are checked.
type cachingServer struct {
	name, kind string
	args       []string
	render     chatTemplate
	sessions   string // --session-concurrency
	// oneSlot is llama.cpp's with one slot and no cache besides: it has the prompt and the answer that it served last, without the
	// last token of the answer, and it computes the last token of each prompt.
	oneSlot bool
	block   int // tokens
}

// TestSessionCache plays sessions on a real server and holds the cached tokens that it states against what pa-analyze says
// a prefix cache could have held. A server has no more than the longest beginning, with the tokens of the template, that
// another request had. With one slot the number is known: what the request that was served before had in common.
//
// llama.cpp closes the connection after every stream. A request that meets the end of the old one would fail, and end its session:
// each has a connection of its own.
func TestSessionCache(t *testing.T) {
	servers := []cachingServer{
		{"no template, one slot", "llamacpp", []string{"--slots", "1", "--cache-ram", "0", "--template", "{% for m in messages %}{{ m.content }}{% endfor %}"}, texts, "1", true, 1},
		{"one slot", "llamacpp", []string{"--slots", "1", "--cache-ram", "0"}, chatML, "1", true, 1},
		{"one slot and main memory", "llamacpp", []string{"--slots", "1"}, chatML, "1", false, 1},
		{"four slots and main memory", "llamacpp", []string{"--slots", "4"}, chatML, "2", false, 1},
	}
	if os.Getenv("REALSERVERS") == "all" {
		servers = append(servers, cachingServer{"vllm", "vllm", []string{"--enable-prompt-tokens-details", "--block-size", "32"}, chatML, "1", false, 32})
	}
	for _, c := range servers {
		t.Run(c.name, func(t *testing.T) { testSessionCache(t, c) })
	}
}

func testSessionCache(t *testing.T, c cachingServer) {
	s := startOpenAI(t, c.kind, c.args...)
	model := filepath.Join(home(t), "openai", "model", "tiny", "tokenizer.json")
	tok, err := tokenizer.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	var before []*cachedRequest // on this server
	for _, input := range []struct {
		name, lines string
		requests    int
	}{{"recorded", recordedSessions(t), 8}, {"live", liveSession(t), 8}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "sessions.jsonl"), []byte(input.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		r := runProgram(t, dir, program(t, "pa-record"), "-m", "tiny", "--service-kind", "openai", "--streaming", "-u", s.HTTP,
			"--session-concurrency", c.sessions, "--connection-reuse", "fresh", "--input-data", "sessions.jsonl", "--extra-body", `{"temperature": 0, "ignore_eos": true}`,
			"--profile-export-file", exportName)
		if r.Code != 0 {
			t.Fatalf("pa-record: %v", r)
		}
		path := filepath.Join(dir, exportName)
		all := cachedRequests(t, path, tok, c.render, model)
		if len(all) != input.requests {
			t.Errorf("%s: %d requests, want %d", input.name, len(all), input.requests)
		}
		var sum struct{ prompt, input, possible, cached, template, another, last int }
		for i, q := range all {
			what := fmt.Sprintf("%s: %s/%s:%d", input.name, q.Session, q.Agent, q.Turn)
			ended, shared := 0, 0 // with requests of this run that had ended, and with all
			for _, p := range all[:i] {
				shared = max(shared, common(p.whole, q.prompt))
				if p.end <= q.start {
					ended = max(ended, common(p.whole, q.prompt))
				}
			}
			for _, p := range before {
				shared = max(shared, common(p.whole, q.prompt))
			}
			template := q.Input - q.Prompt
			if ended < q.Possible || ended > q.Possible+template {
				t.Errorf("%s: pa-analyze says that %d tokens were possible; with at most %d of the template they were %d", what, q.Possible, template, ended)
			}
			// What a run before had sent, or a request that had not ended yet, adds no more than the difference.
			if q.Cached > min(shared, q.Input-1) || q.Cached > q.Possible+template+shared-ended {
				t.Errorf("%s: the server says that %d of %d tokens were cached; possible are %d, with the template %d", what, q.Cached, q.Input, q.Possible, shared)
			}
			// Requests that follow each other find all whole blocks in an unlimited cache.
			if most := min(shared, q.Input-1); c.kind == "vllm" && input.name == "recorded" && q.Cached != most-most%c.block {
				t.Errorf("%s: the server says that %d tokens were cached, want the whole blocks of %d in %d", what, q.Cached, c.block, most)
			}
			held := shared
			if c.oneSlot {
				want := 0
				held = 0
				if served := slices.Concat(before, all[:i]); len(served) > 0 {
					last := served[len(served)-1]
					held = common(last.whole, q.prompt)
					want = min(common(last.whole[:len(last.whole)-1], q.prompt), q.Input-1)
				}
				if q.Cached != want {
					t.Errorf("%s: the server says that %d tokens were cached, want %d", what, q.Cached, want)
				}
				if held-q.Cached > 1 {
					t.Errorf("%s: %d cached tokens of %d that the slot had read or made", what, q.Cached, held)
				}
			}
			sum.prompt += q.Prompt
			sum.input += q.Input
			sum.possible += q.Possible
			sum.cached += q.Cached
			sum.template += max(shared, q.Possible) - q.Possible
			sum.another += max(shared, q.Possible) - held
			sum.last += held - q.Cached
		}
		t.Logf("%s: %d tokens; %d possible + %d of the template − %d in another prompt than the slot's − %d others = %d cached",
			input.name, sum.input, sum.possible, sum.template, sum.another, sum.last, sum.cached)
		figures := readSessions(t, path, "--tokenizer", model, "--cache-block", "1").Figures
		for name, want := range map[string]float64{
			"possible_hit_rate": float64(sum.possible) / float64(sum.prompt), "possible_hit_rate_blocks": float64(sum.possible) / float64(sum.prompt),
			"measured_hit_rate": float64(sum.cached) / float64(sum.input),
		} {
			if got := figures[name].Value; got == nil || math.Abs(*got-want) > 1e-9 {
				t.Errorf("%s: pa-analyze's %s is %v, want %v", input.name, name, got, want)
			}
		}
		before = append(before, all...)
	}
}

// TestSessionOverflow sends a prompt that is longer than the context of a real server: it ends its session, and no other.
func TestSessionOverflow(t *testing.T) {
	servers := []struct{ kind, flag string }{{"llamacpp", "--context"}}
	if os.Getenv("REALSERVERS") == "all" {
		servers = append(servers, struct{ kind, flag string }{"vllm", "--max-model-len"})
	}
	var lines strings.Builder
	for _, row := range []struct {
		id    string
		words int
	}{{"long", 20}, {"long", 300}, {"long", 5}, {"short", 20}, {"short", 5}} {
		line, err := json.Marshal(map[string]any{"session_id": row.id, "messages": []chatMessage{say("user", "the", row.words)}, "max_tokens": 4})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	for _, c := range servers {
		t.Run(c.kind, func(t *testing.T) {
			s := startOpenAI(t, c.kind, c.flag, "256")
			for _, tt := range []struct {
				name string
				args []string
				code int
				want []string
			}{
				{"default", nil, 0, []string{
					"1 request did not fit into the context of the model (context_overflow)",
					"1 turn was not sent, because an earlier turn was longer than the context of the model",
				}},
				{"sessions go on after failures", []string{"--on-session-failure", "continue"}, 0, []string{"1 turn was not sent"}},
				{"too many", []string{"--max-overflow-rate", "10%"}, 3, []string{"1 of 4 requests did not fit into the context of the model, 25%, more than the 10% allowed"}},
			} {
				t.Run(tt.name, func(t *testing.T) {
					dir, r := record(t, lines.String(), append([]string{
						"-m", "tiny", "--service-kind", "openai", "--streaming", "-u", s.HTTP, "--session-concurrency", "1",
						"--connection-reuse", "fresh", "--input-data", "prompts.json", "--profile-export-file", exportName,
					}, tt.args...)...)
					for _, want := range tt.want {
						if !strings.Contains(r.Stderr, want) {
							t.Errorf("standard error lacks %q", want)
						}
					}
					if r.Code != tt.code {
						t.Errorf("exit code %d, want %d", r.Code, tt.code)
					}
					if t.Failed() {
						t.Fatalf("pa-record: %v", r)
					}
					checkOverflow(t, filepath.Join(dir, exportName))
				})
			}
		})
	}
}

// checkOverflow checks an export of TestSessionOverflow.
func checkOverflow(t *testing.T, path string) {
	t.Helper()
	_, requests := exporttest.Read(t, path)
	var got []string
	for i := range requests {
		q := &requests[i]
		got = append(got, fmt.Sprintf("%s:%d %v", q.SessionID, q.Turn, q.Status))
		if q.Status == export.StatusContextOverflow && (q.Code != 400 || !strings.Contains(q.Message, "256")) {
			t.Errorf("code %d, %q; want 400 and the length of the context", q.Code, q.Message)
		}
	}
	slices.Sort(got)
	if want := []string{"long:0 ok", "long:1 context_overflow", "short:0 ok", "short:1 ok"}; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"sessions":{"begun":2,"completed":1,"context_overflow":1,"not_sent":{"context_overflow":1}}`; !strings.Contains(string(text), want) {
		t.Errorf("the export lacks %s", want)
	}
	if r := readSessions(t, path); r.Finished != 1 || r.Failed != 1 {
		t.Errorf("pa-analyze: %d finished sessions and %d failed ones, want 1 and 1", r.Finished, r.Failed)
	}
}

// A sessionsFile is what pa-analyze report says of the sessions of a level.
type sessionsFile struct {
	Finished, Failed int
	Figures          map[string]struct{ Value *float64 }
}

func readSessions(t *testing.T, path string, args ...string) sessionsFile {
	t.Helper()
	var r struct {
		Experiments []struct{ Sessions sessionsFile }
	}
	if err := json.Unmarshal([]byte(analyze(t, append([]string{"report", "--metrics", "sessions", "--format", "json", path}, args...)...)), &r); err != nil {
		t.Fatalf("pa-analyze report --format json: %v", err)
	}
	if len(r.Experiments) != 1 {
		t.Fatalf("%d levels, want 1", len(r.Experiments))
	}
	return r.Experiments[0].Sessions
}
