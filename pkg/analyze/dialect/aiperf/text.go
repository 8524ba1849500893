package aiperf

import (
	"encoding/json"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// texts takes the texts out of requests. It keeps buffers from one to the next.
type texts struct {
	chunk             openai.Chunk
	answers, thoughts strings.Builder
}

// answer returns the joined text of the answer and of its reasoning.
func (t *texts) answer(q *export.Request) (answer, reasoning string) {
	t.answers.Reset()
	t.thoughts.Reset()
	var split sse.Splitter
	whole := false
	for i := range q.Responses {
		out := q.Responses[i].Outputs
		if v, ok := out.Get("response"); ok {
			if i == 0 && strings.HasPrefix(strings.TrimLeft(string(v.Data[:min(len(v.Data), 16)]), " \r\n"), "{") {
				whole = true
			}
			split.Feed(v.Data)
			for !whole && split.Next() {
				if openai.ParseFrame(split.Frame(), &t.chunk) == nil {
					t.take()
				}
			}
			if whole && openai.Parse(v.Data, &t.chunk) == nil {
				t.take()
			}
		} else if v, ok := out.Get("text_output"); ok && v.Text {
			t.answers.Write(v.Data)
		}
	}
	split.Feed([]byte("\n\n")) // the stream may end inside an event; count it
	for !whole && split.Next() {
		if openai.ParseFrame(split.Frame(), &t.chunk) == nil {
			t.take()
		}
	}
	return t.answers.String(), t.thoughts.String()
}

func (t *texts) take() {
	for i := range t.chunk.Choices {
		t.answers.Write(t.chunk.Choices[i].Content)
		t.thoughts.Write(t.chunk.Choices[i].Reasoning)
	}
}

// prompt returns the texts that were sent, joined by blanks; false when there
// are none.
func (t *texts) prompt(q *export.Request) (string, bool) {
	if v, ok := q.Inputs.Get("text_input"); ok && v.Text {
		return string(v.Data), true
	}
	v, ok := q.Inputs.Get("payload")
	if !ok {
		return "", false
	}
	var body struct {
		Messages []struct{ Content any }
		Prompt   any
		Input    any
	}
	if json.Unmarshal(v.Data, &body) != nil {
		return "", false
	}
	var all []string
	for _, m := range body.Messages {
		gather(m.Content, &all)
	}
	gather(body.Prompt, &all)
	gather(body.Input, &all)
	return strings.Join(all, " "), len(all) > 0
}

// gather collects the texts of a content, a prompt, or lists of them.
func gather(v any, all *[]string) {
	switch v := v.(type) {
	case string:
		*all = append(*all, v)
	case []any:
		for _, e := range v {
			gather(e, all)
		}
	case map[string]any:
		gather(v["text"], all)
	}
}

// requested returns how many tokens the answer was to have; 0 where that is not
// said.
func (t *texts) requested(q *export.Request) int64 {
	v, ok := q.Inputs.Get("payload")
	if !ok {
		return 0
	}
	var body struct {
		MaxTokens           int64 `json:"max_tokens"`
		MaxCompletionTokens int64 `json:"max_completion_tokens"`
	}
	if json.Unmarshal(v.Data, &body) != nil {
		return 0
	}
	return max(body.MaxCompletionTokens, body.MaxTokens)
}
