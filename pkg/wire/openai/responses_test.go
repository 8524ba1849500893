package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/wire/sse"
)

// Recorded answers of llama.cpp and vLLM, event by event as encoding/json reads them.
func TestRecordedResponses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file                             string
		input, output, cached, reasoning int64
		items                            string // types of the items that go back
	}{
		{"llamacpp_stream.http", 29, 16, 28, 0, "message"},
		{"llamacpp_stream_tool.http", 29, 120, 28, 0, "message"},
		{"llamacpp_whole.http", 29, 16, 28, 0, "message"},
		{"vllm_stream.http", 29, 16, 0, 16, "reasoning"},
		{"vllm_stream_tool.http", 29, 94, 0, 92, "reasoning"},
		{"vllm_whole.http", 29, 16, 0, 6, "reasoning message"},
	} {
		_, body := recordedAnswer(t, "responses", tt.file)
		frames := [][]byte{body}
		streamed := strings.Contains(tt.file, "stream")
		if streamed {
			frames = splitAll(body)
		}
		var c Chunk
		var st Stream
		var r Reply
		for _, frame := range frames {
			if err := ParseFrame(frame, &c); err != nil {
				t.Fatalf("%s: %q: %v", tt.file, frame, err)
			}
			st.Add(&c)
			if err := r.Add(frame); err != nil {
				t.Fatal(err)
			}
			if !streamed {
				continue
			}
			var e struct{ Type, Delta string }
			if err := json.Unmarshal(sse.Parse(frame).Data, &e); err != nil {
				t.Fatal(err)
			}
			got := ""
			for i := range c.Choices {
				got += string(c.Choices[i].Content) + string(c.Choices[i].Reasoning) + string(c.Choices[i].ToolCalls)
			}
			if got != e.Delta {
				t.Errorf("%s: %s: %q, want %q", tt.file, e.Type, got, e.Delta)
			}
		}
		if u := st.Usage; u.PromptTokens != tt.input || u.CompletionTokens != tt.output || u.CachedTokens != tt.cached || u.ReasoningTokens != tt.reasoning || !st.Complete() || st.Err != nil {
			t.Errorf("%s: usage %+v, complete %v, %v", tt.file, u, st.Complete(), st.Err)
		}
		message, err := r.AppendMessage(nil)
		var items []struct{ Type string }
		if err != nil || json.Unmarshal([]byte("["+string(message)+"]"), &items) != nil {
			t.Fatalf("%s: %v: %s", tt.file, err, message)
		}
		var types []string
		for _, i := range items {
			types = append(types, i.Type)
		}
		if strings.Join(types, " ") != tt.items || !strings.HasPrefix(r.ID(), "resp_") {
			t.Errorf("%s: items %v, id %q", tt.file, types, r.ID())
		}
	}
}
