package openai

import (
	"bytes"
	"errors"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A Reply joins the events of a chat answer to one message, which can go back to the
// server as a turn of the conversation. It takes the choice with index 0. The message of
// a whole body stays unchanged. For a stream, Reply joins content, refusal and tool
// calls, and leaves out the reasoning, as the APIs require. The zero value is empty.
type Reply struct {
	message []byte // of a whole body, compact
	role    []byte
	content []byte
	refusal []byte
	calls   []toolCall // by index
	seen    bool       // there was a choice
	chunk   Chunk      // of the last frame
}

// A toolCall is a call of a function, joined.
type toolCall struct {
	index                     int64
	id, kind, name, arguments []byte
}

// Add takes the next frame of an event stream, or a whole body, as ParseFrame
// does. It returns the server's error, an *Error, or the error from reading the frame.
func (r *Reply) Add(frame []byte) error {
	c := &r.chunk
	if err := ParseFrame(frame, c); err != nil {
		return err
	}
	if c.Error != nil {
		return c.Error
	}
	for i := range c.Choices {
		if choice := &c.Choices[i]; choice.Index == 0 {
			r.seen = true
			r.add(choice)
		}
	}
	return nil
}

func (r *Reply) add(c *Choice) {
	if len(c.message) > 0 && c.message[0] == '{' {
		if m, err := AppendCompact(nil, c.message); err == nil {
			r.message = m
		}
		return
	}
	if len(r.role) == 0 {
		r.role = slices.Clone(c.Role)
	}
	r.content = append(r.content, c.Content...)
	r.refusal = append(r.refusal, c.Refusal...)
	if len(c.ToolCalls) > 0 {
		r.addCalls(c.calls)
	}
}

// addCalls adds delta.tool_calls: pieces of calls, each with the index of its call. The first
// piece has the id, the type and the name.
func (r *Reply) addCalls(raw []byte) {
	var w jsonscan.Walker
	w.Reset(raw)
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		var p toolCall
		for ok := w.OpenObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "index":
				p.index, _ = count(&w)
			case "id":
				p.id = w.String()
			case "type":
				p.kind = w.String()
			case "function":
				for ok := w.OpenObject(); ok; ok = w.NextMember() {
					switch string(w.Key) {
					case "name":
						p.name = w.String()
					case "arguments":
						p.arguments = w.String()
					default:
						w.Skip()
					}
				}
			default:
				w.Skip()
			}
		}
		i := slices.IndexFunc(r.calls, func(c toolCall) bool { return c.index == p.index })
		if i < 0 {
			i = len(r.calls)
			r.calls = append(r.calls, toolCall{index: p.index})
		}
		c := &r.calls[i]
		if len(c.id) == 0 {
			c.id = slices.Clone(p.id)
		}
		if len(c.kind) == 0 {
			c.kind = slices.Clone(p.kind)
		}
		c.name, c.arguments = append(c.name, p.name...), append(c.arguments, p.arguments...)
	}
}

// errNoReply is the error of an answer without a message.
var errNoReply = errors.New("the answer has no choice with a message")

// AppendMessage appends the message as compact JSON. It fails if there is no message.
func (r *Reply) AppendMessage(dst []byte) ([]byte, error) {
	switch {
	case r.message != nil:
		return append(dst, r.message...), nil
	case !r.seen:
		return dst, errNoReply
	}
	role := r.role
	if len(role) == 0 {
		role = []byte("assistant")
	}
	dst = appendQuoted(append(dst, `{"role":`...), role)
	if len(r.content) > 0 || len(r.calls) == 0 && len(r.refusal) == 0 {
		dst = appendQuoted(append(dst, `,"content":`...), r.content)
	}
	if len(r.refusal) > 0 {
		dst = appendQuoted(append(dst, `,"refusal":`...), r.refusal)
	}
	for i, c := range r.calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		kind := c.kind
		if len(kind) == 0 {
			kind = []byte("function")
		}
		dst = appendQuoted(append(dst, `{"id":`...), c.id)
		dst = appendQuoted(append(dst, `,"type":`...), kind)
		dst = appendQuoted(append(dst, `,"function":{"name":`...), c.name)
		dst = appendQuoted(append(dst, `,"arguments":`...), c.arguments)
		dst = append(dst, `}}`...)
	}
	if len(r.calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}

// appendQuoted appends text as a JSON string.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range bytes.ToValidUTF8(text, []byte("\uFFFD")) {
		switch {
		case c == '"' || c == '\\' || c < 0x20:
			dst = appendChar(dst, rune(c))
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
