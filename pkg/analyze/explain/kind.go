package explain

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// A Kinds describes responses in words. Explainers that read the requests in lockstep may share one, which
// describes each response once.
type Kinds struct {
	turn func() int // number of the current request; nil: what was described is not remembered

	at    int // turn of known
	known []describedTime
	chunk openai.Chunk
	data  []byte
}

// A describedTime describes the responses that arrived at a time.
type describedTime struct {
	recvNS uint64
	kind   string
}

// NewKinds returns a Kinds to share. turn returns the number of the current request, from 1.
func NewKinds(turn func() int) *Kinds { return &Kinds{turn: turn} }

// describe describes the responses of a request that arrived at that time.
func (k *Kinds) describe(q *export.Request, recvNS uint64) string {
	if k.turn == nil || k.at != k.turn() {
		if k.known = k.known[:0]; k.turn != nil {
			k.at = k.turn()
		}
	}
	for i := range k.known {
		if k.known[i].recvNS == recvNS {
			return k.known[i].kind
		}
	}
	var kinds []string
	for i := range q.Responses {
		if p := &q.Responses[i]; p.RecvNS == recvNS {
			if one := k.of(p); !slices.Contains(kinds, one) {
				kinds = append(kinds, one)
			}
		}
	}
	kind := "a response"
	if len(kinds) > 0 {
		kind = strings.Join(kinds, " and ")
	}
	k.known = append(k.known, describedTime{recvNS, kind})
	return kind
}

// of describes the content of a response, by its first event.
func (k *Kinds) of(p *export.Response) string {
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
	case one.TokenIDs > 0:
		return "token ids"
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
