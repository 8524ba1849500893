package dialect

import (
	"bytes"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// Texts extracts the texts of answers. It reuses its buffers, so it is for one goroutine;
// the zero value is ready.
type Texts struct {
	chunk             openai.Chunk
	answers, thoughts strings.Builder
}

// Of returns the joined text of an answer and of its reasoning; ok is false if the file
// has no outputs.
func (t *Texts) Of(q *export.Request) (answer, reasoning string, ok bool) {
	t.answers.Reset()
	t.thoughts.Reset()
	var split sse.Splitter
	for i := range q.Responses {
		out := q.Responses[i].Outputs
		if v, there := out.Get("text_output"); there && v.Text {
			t.answers.Write(v.Data)
			ok = true
		}
		v, there := out.Get("response")
		if !there {
			continue
		}
		ok = true
		if i == 0 && bytes.HasPrefix(bytes.TrimLeft(v.Data, " \r\n"), []byte("{")) {
			if openai.Parse(v.Data, &t.chunk) == nil {
				t.take()
			}
			break
		}
		split.Feed(v.Data)
		t.events(&split)
	}
	split.Feed([]byte("\n\n")) // the stream may end inside an event; count it
	t.events(&split)
	return t.answers.String(), t.thoughts.String(), ok
}

// events adds the texts of the events that are complete.
func (t *Texts) events(split *sse.Splitter) {
	for split.Next() {
		if openai.ParseFrame(split.Frame(), &t.chunk) == nil {
			t.take()
		}
	}
}

// take adds the texts of the chunk.
func (t *Texts) take() {
	for i := range t.chunk.Choices {
		t.answers.Write(t.chunk.Choices[i].Content)
		t.thoughts.Write(t.chunk.Choices[i].Reasoning)
	}
}
