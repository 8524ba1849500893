package explain

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// kinds describes responses in words. It reuses its buffers.
type kinds struct {
	chunk openai.Chunk
	data  []byte
}

// of describes the content of a response, by its first event.
func (k *kinds) of(p *export.Response) string {
	v, ok := p.Outputs.Get("response")
	if !ok {
		return tensorKind(p)
	}
	var s sse.Splitter
	k.data = append(append(k.data[:0], v.Bytes()...), "\n\n"...)
	s.Feed(k.data)
	if !s.Next() {
		return "an empty response"
	}
	if err := openai.ParseFrame(s.Frame(), &k.chunk); err != nil {
		return "a piece of an event"
	}
	return chunkKind(&k.chunk)
}

func chunkKind(c *openai.Chunk) string {
	switch {
	case c.Done:
		return "[DONE]"
	case c.Comment, c.Null:
		return "a comment"
	case c.Error != nil:
		return "an error"
	case len(c.Choices) == 0 && c.HasUsage:
		return "the usage"
	case len(c.Choices) == 0:
		return "an event without choices"
	}
	one := &c.Choices[0]
	switch {
	case len(one.Content) > 0:
		return "text"
	case len(one.Reasoning) > 0:
		return "reasoning"
	case len(one.ToolCalls) > 0:
		return "a tool call"
	case len(one.Refusal) > 0:
		return "a refusal"
	case len(one.FinishReason) > 0:
		return "the finish reason"
	case len(one.Role) > 0:
		return "the role alone"
	}
	return "an empty text"
}

// tensorKind describes a response of a Triton server.
func tensorKind(p *export.Response) string {
	for i := range p.Outputs {
		if v := &p.Outputs[i].Value; p.Outputs[i].Name == "text_output" && (len(v.Data) > 0 || v.Envelope != nil) {
			return "text"
		}
	}
	if len(p.Outputs) == 0 {
		return "a response without outputs"
	}
	return "the empty final response"
}
