//go:build realservers

package realservers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// TestResponses records v1/responses of llama.cpp.
func TestResponses(t *testing.T) { compareResponses(t, "llamacpp", startOpenAI(t, "llamacpp")) }

// compareResponses compares the recorded events of v1/responses with the events that a plain client reads, and holds a
// conversation: with the history in the requests, and on vLLM with the history at the server.
func compareResponses(t *testing.T, kind string, s *server) {
	const body = `{"model": "tiny", "input": "Tell me", "stream": true, "max_output_tokens": 24, "temperature": 0}`
	args := []string{"-m", "tiny", "--service-kind", "openai", "--endpoint", "v1/responses", "-u", s.HTTP, "--input-data=prompts.json", "--profile-export-file=profile_export.json"}
	diff := "none"
	for attempt := 1; diff != "" && attempt <= 5; attempt++ { // a server that is behind sends several tokens in one event
		want := string(plainPost(t, "http://"+s.HTTP+"/v1/responses", body))
		_, f := mustRecord(t, fmt.Sprintf(`{"data": [{"payload": [%s]}]}`, body), append(args, "--request-count", "1")...)
		var got strings.Builder
		for _, out := range f.requests(t, 1)[0].ResponseOutputs {
			got.WriteString(out.text("response"))
		}
		diff = cmp.Diff(eventsOf(t, want), eventsOf(t, got.String()))
	}
	if diff != "" {
		t.Errorf("events (-plain +recorded):\n%s", diff)
	}
	const turns = `{"data": [{"session_id": "s", "payload": [{"input": "Tell me", "max_output_tokens": 8}]}, {"session_id": "s", "payload": [{"input": "More", "max_output_tokens": 8}]}]}`
	histories := []string{"live"}
	if kind == "vllm" {
		histories = append(histories, "server")
	}
	for _, history := range histories {
		_, f := mustRecord(t, turns, append(args, "--streaming", "--session-concurrency", "1", "--session-history", history)...)
		if n := len(f.requests(t, 2)); n != 2 {
			t.Errorf("history %s: %d requests", history, n)
		}
	}
}

// eventsOf returns the kind and the output of each event.
func eventsOf(t *testing.T, body string) (events []string) {
	t.Helper()
	split := sse.Splitter{MaxFrameBytes: len(body) + 1}
	for split.Feed([]byte(body)); split.Next(); {
		var c openai.Chunk
		if err := openai.ParseFrame(split.Frame(), &c); err != nil {
			t.Fatal(err)
		}
		event := string(sse.Parse(split.Frame()).Name)
		for i := range c.Choices {
			event += fmt.Sprintf(" %s|%s|%s", c.Choices[i].Content, c.Choices[i].Reasoning, c.Choices[i].ToolCalls)
		}
		events = append(events, event)
	}
	return events
}
