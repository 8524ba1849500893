//go:build realservers

package realservers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const messagesTools = `"tools": [{"name": "get_weather", "description": "Weather", "input_schema": {"type": "object",
	"properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["city", "days"]}}]`

// messagesRequests are bodies of requests to v1/messages, without the members that all have.
var messagesRequests = []struct {
	name, body string
	whole      bool
}{
	{"prompt", `"max_tokens": 40, "messages": [{"role": "user", "content": "Say something"}]`, false},
	{"whole", `"max_tokens": 24, "messages": [{"role": "user", "content": "Say something"}]`, true},
	{"instructions", `"max_tokens": 16, "system": [{"type": "text", "text": "Be brief."}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]`, false},
	// llama.cpp lets the model write any text before a call, and the tiny model never comes to the call.
	{"tool call", `"max_tokens": 120, "messages": [{"role": "user", "content": "Tell the world of it"}], "tool_choice": {"type": "any"}, ` + messagesTools, false},
	{"conversation with the result of a tool", `"max_tokens": 12, "messages": [{"role": "user", "content": "Weather?"},
		{"role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome", "days": 2}}]},
		{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}]}], ` + messagesTools, false},
	{"cached", `"max_tokens": 16, "messages": [{"role": "user", "content": "` + strings.Repeat(" the", 650) + `"}]`, false},
}

// TestMessages records Anthropic Messages of llama.cpp.
func TestMessages(t *testing.T) {
	compareMessages(t, "llamacpp", startOpenAI(t, "llamacpp", oneSlot...))
}

// compareMessages compares each event that pa-record records with the events that a plain client of net/http receives for the
// same request, and the figures of pa-analyze with the events.
func compareMessages(t *testing.T, kind string, s *server) {
	for _, c := range messagesRequests {
		body := fmt.Sprintf(`{"model": "tiny", "stream": %v, "temperature": 0, "seed": 7, %s}`, !c.whole, c.body)
		for _, transport := range []string{"loop", "nethttp"} {
			t.Run(c.name+", "+transport, func(t *testing.T) {
				_, _ = plainMessages(t, s, body) // the second answer of a server with a cache states other numbers
				// A server that is behind sends several tokens in one event.
				diff := "none"
				for attempt := 1; diff != "" && attempt <= 5; attempt++ {
					path, f := mustRecord(t, `{"data": [{"payload": [`+body+`]}]}`, messagesArgs(s, transport, !c.whole)...)
					code, answer := plainMessages(t, s, body)
					want := splitEvents(answer)
					if code != http.StatusOK || c.whole != (len(want) == 1) {
						t.Fatalf("the plain client got %d: %s", code, answer)
					}
					diff = ""
					for i, r := range f.requests(t, 4) {
						var got []string
						for _, out := range r.ResponseOutputs {
							got = append(got, out.text("response"))
						}
						if d := cmp.Diff(sameAgain(want), sameAgain(got)); d != "" {
							diff = fmt.Sprintf("request %d: events (-plain client +pa-record):\n%s", i, d)
						}
					}
					if diff == "" {
						checkMessages(t, path, f, kind, c.name)
					}
				}
				if diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	for _, c := range []struct {
		name, model, content string
		code                 int
		status               string
	}{
		{"too long", "tiny", strings.Repeat(" the", 6000), http.StatusBadRequest, "context_overflow"},
		{"unknown model", "nosuch", "Hi", http.StatusNotFound, "http_error"},
	} {
		if kind == "llamacpp" && c.model != "tiny" {
			continue // it answers for any model
		}
		t.Run(c.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"model": %q, "stream": true, "max_tokens": 16, "messages": [{"role": "user", "content": %q}]}`, c.model, c.content)
			code, answer := plainMessages(t, s, body)
			if code != c.code {
				t.Fatalf("the plain client got %d: %s", code, answer)
			}
			dir, r := record(t, `{"data": [{"payload": [`+body+`]}]}`, messagesArgs(s, "loop", true)...)
			if r.Code == 0 {
				t.Fatalf("pa-record: %v", r)
			}
			e := readExport(t, filepath.Join(dir, exportName)).Experiments[0]
			if e.PA == nil || len(e.PA.ExcludedRequests) == 0 {
				t.Fatal("the export has no failed request")
			}
			for i, q := range e.PA.ExcludedRequests {
				if q.PA == nil || q.PA.Status != c.status || q.PA.Code != code || q.ResponseOutputs[0].text("response") != answer {
					t.Errorf("request %d: %+v, %q, want %q", i, q.PA, q.ResponseOutputs, answer)
				}
			}
		})
	}
}

func messagesArgs(s *server, transport string, stream bool) []string {
	return []string{
		"-m", "tiny", "--service-kind", "openai", "--endpoint", "v1/messages", "-u", s.HTTP, "--transport", transport, "--streaming=" + strconv.FormatBool(stream),
		"--request-count", "4", "--concurrency-range", "1", "--input-data=prompts.json", "--profile-export-file=profile_export.json",
	}
}

// plainMessages returns the answer that net/http receives.
func plainMessages(t *testing.T, s *server, body string) (code int, answer string) {
	t.Helper()
	resp, err := http.Post("http://"+s.HTTP+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// splitEvents splits a stream after each blank line.
func splitEvents(stream string) []string {
	events := strings.SplitAfter(stream, "\n\n")
	if events[len(events)-1] == "" {
		events = events[:len(events)-1]
	}
	return events
}

// unlike are what an answer to the same request has of its own.
var unlike = regexp.MustCompile(`"(id|signature)":"[^"]*"`)

func sameAgain(events []string) (same []string) {
	for _, e := range events {
		same = append(same, unlike.ReplaceAllString(e, `"$1":"…"`))
	}
	return same
}

// A messagesEvent is an event, or a whole answer.
type messagesEvent struct {
	Type    string
	Content []messagesPart
	Message struct{ Usage messagesUsage }
	Usage   messagesUsage
	Block   messagesPart `json:"content_block"`
	Delta   messagesPart
}

type messagesPart struct {
	Text, Thinking, Name string
	Partial              string `json:"partial_json"`
}

type messagesUsage struct {
	Input   *int `json:"input_tokens"`
	Output  *int `json:"output_tokens"`
	Created int  `json:"cache_creation_input_tokens"`
	Read    int  `json:"cache_read_input_tokens"`
}

// checkMessages holds the figures of pa-analyze against the events of the recorded requests.
func checkMessages(t *testing.T, path string, f exportFile, kind, name string) {
	t.Helper()
	table, err := csv.NewReader(strings.NewReader(analyze(t, "requests", "--metrics", "prefix", "--format", "csv", path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, title := range table[0] {
		column[title] = i
	}
	for i, r := range f.requests(t, 4) {
		input, cached, output, events, calls := 0, 0, 0, 0, 0
		ttft := ""
		for k, out := range r.ResponseOutputs {
			data := out.text("response")
			if _, after, ok := strings.Cut(data, "data: "); ok {
				data = after
			}
			var e messagesEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("request %d: %q: %v", i, data, err)
			}
			for _, u := range []messagesUsage{e.Message.Usage, e.Usage} {
				if u.Input != nil {
					input, cached = *u.Input+u.Created+u.Read, u.Read
				}
				if u.Output != nil {
					output = *u.Output
				}
			}
			for _, p := range append(e.Content, e.Block, e.Delta) {
				if p.Name != "" {
					calls++
				}
				if p.Text+p.Thinking+p.Name+p.Partial == "" {
					continue
				}
				if events++; events == 1 && e.Type != "message" {
					ttft = strconv.FormatUint(r.ResponseTimestamps[k]-r.Timestamp, 10)
				}
			}
		}
		for _, c := range []struct{ title, want string }{
			{"ttft_ns", ttft}, {"input_tokens", strconv.Itoa(input)}, {"cached_tokens", strconv.Itoa(cached)}, {"output_tokens", strconv.Itoa(output)},
		} {
			at, ok := column[c.title]
			if !ok {
				t.Fatalf("pa-analyze requests has no column %s: %v", c.title, table[0])
			}
			if got := table[i+1][at]; got != c.want {
				t.Errorf("request %d: %s is %q, want %q", i, c.title, got, c.want)
			}
		}
		if events == 0 || kind == "vllm" && (calls > 0) != (name == "tool call") {
			t.Errorf("request %d: %d events with output, %d calls of tools", i, events, calls)
		}
		if name == "cached" && cached < 600 {
			t.Errorf("request %d: %d of %d tokens were cached", i, cached, input)
		}
	}
}
