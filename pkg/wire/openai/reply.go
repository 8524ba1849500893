package openai

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// HistoryReasoning says whether a message that goes back to the server keeps its reasoning.
type HistoryReasoning uint8

const (
	// ReasoningAuto keeps it in messages that call a tool, because models that think need it to go on
	// after the call, and drops it from all others, as the APIs advise.
	ReasoningAuto HistoryReasoning = iota
	// ReasoningKeep keeps it.
	ReasoningKeep
	// ReasoningDrop drops it.
	ReasoningDrop
)

var historyReasoningNames = [...]string{"auto", "keep", "drop"}

// String returns "auto", "keep" or "drop".
func (h HistoryReasoning) String() string {
	if int(h) < len(historyReasoningNames) {
		return historyReasoningNames[h]
	}
	return fmt.Sprintf("invalid(%d)", h)
}

// ParseHistoryReasoning is the inverse of String.
func ParseHistoryReasoning(s string) (HistoryReasoning, error) {
	if i := slices.Index(historyReasoningNames[:], s); i >= 0 {
		return HistoryReasoning(i), nil
	}
	return 0, fmt.Errorf("%q: expected keep, drop or auto", s)
}

// A Reply joins the events of the answer of a chat, of v1/responses, of Anthropic Messages, of Gemini or of Ollama to one message,
// or the items of v1/responses, which can go back to the server as a turn of the conversation. It takes the choice with index 0. The message of
// a whole body stays unchanged but for its reasoning. For a stream, Reply joins content, reasoning,
// refusal and tool calls. The zero value is empty.
type Reply struct {
	// History says what becomes of the reasoning.
	History HistoryReasoning

	message []byte // of a whole body, compact
	role    []byte
	content []byte
	refusal []byte
	// reasoning is in reasoning_content if inReasoningContent is set, in parts of content if inParts is set, in reasoning_details if
	// there are details, else in reasoning.
	reasoning                   []byte
	inReasoningContent, inParts bool
	details                     []byte     // elements of reasoning_details, compact
	called                      bool       // there is a tool call
	calls                       []toolCall // of a stream, by index
	seen                        bool       // there was a choice
	chunk                       Chunk      // of the last frame

	messages bool          // the answer is of Anthropic Messages
	blocks   []replyBlock  // of its content
	blockAt  map[int64]int // the last block of each index

	native replyKind   // partItems, partGemini or partOllama for an answer of these; else noPart
	items  []replyItem // of such an answer
	id     []byte
	stream Stream
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
	if c.Messages != NotMessages {
		return r.addMessages(c)
	}
	r.stream.Add(c)
	if len(r.id) == 0 {
		r.id = slices.Clone(c.ID)
	}
	for i := range c.Choices {
		if choice := &c.Choices[i]; choice.Index == 0 {
			r.seen = true
			r.add(choice)
		}
	}
	if c.part.kind != noPart {
		return r.addPart(&c.part)
	}
	return nil
}

// ID returns the id of an answer of v1/responses that the server has completed; "" for any other.
func (r *Reply) ID() string {
	if !r.stream.Complete() {
		return ""
	}
	return string(r.id)
}

func (r *Reply) add(c *Choice) {
	r.reasoning = append(r.reasoning, c.Reasoning...)
	r.inReasoningContent, r.inParts = r.inReasoningContent || c.inReasoningContent, r.inParts || c.inParts
	if len(c.message) > 0 && c.message[0] == '[' {
		if list, err := AppendCompact(nil, c.message); err == nil {
			if len(r.details) > 0 {
				r.details = append(r.details, ',')
			}
			r.details = append(r.details, list[1:len(list)-1]...)
		}
	}
	r.called = r.called || len(c.ToolCalls) > 0
	r.content = append(r.content, c.Content...)
	r.refusal = append(r.refusal, c.Refusal...)
	if len(c.message) > 0 && c.message[0] == '{' {
		if m, err := AppendCompact(nil, c.message); err == nil {
			r.message = m
		}
		return
	}
	if len(r.role) == 0 {
		r.role = slices.Clone(c.Role)
	}
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

// Contentless reports whether the answer has neither content nor a refusal nor a tool call: it ended while
// the model was thinking, or the model said nothing. Servers refuse such a message.
func (r *Reply) Contentless() bool {
	return r.seen && len(r.content) == 0 && len(r.refusal) == 0 && !r.called
}

// keeps reports whether the message keeps its reasoning.
func (r *Reply) keeps() bool {
	return r.History == ReasoningKeep || r.History == ReasoningAuto && r.called
}

// AppendMessage appends the message as compact JSON. It fails if there is no message. If the answer is
// [Reply.Contentless], its reasoning becomes the content, so that the roles of the conversation
// alternate; without reasoning, and with ReasoningDrop, AppendMessage appends nothing. The message of an answer of
// Messages has the blocks of the answer, also if they hold thoughts only.
func (r *Reply) AppendMessage(dst []byte) ([]byte, error) {
	if !r.seen {
		return dst, errNoReply
	}
	if r.messages {
		return r.appendMessages(dst)
	}
	if r.native != noPart {
		return r.appendNative(dst), nil
	}
	content := r.content
	if r.Contentless() {
		if content = r.reasoning; len(content) == 0 || r.History == ReasoningDrop {
			return dst, nil
		}
	} else if r.message != nil {
		if r.keeps() || len(r.reasoning) == 0 {
			return append(dst, r.message...), nil
		}
		return appendWithoutReasoning(dst, r.message), nil
	}
	role := r.role
	if len(role) == 0 {
		role = []byte("assistant")
	}
	dst = appendQuoted(append(dst, `{"role":`...), role)
	keep := len(r.reasoning) > 0 && r.keeps() && !r.Contentless()
	switch {
	case keep && r.inParts:
		dst = append(dst, `,"content":[{"type":"thinking","thinking":[{"type":"text","text":`...)
		dst = append(appendQuoted(dst, r.reasoning), `}]}`...)
		if len(content) > 0 {
			dst = append(appendQuoted(append(dst, `,{"type":"text","text":`...), content), '}')
		}
		dst = append(dst, ']')
	case len(content) > 0:
		dst = appendQuoted(append(dst, `,"content":`...), content)
	}
	switch {
	case !keep || r.inParts:
	case len(r.details) > 0:
		dst = append(append(append(dst, `,"reasoning_details":[`...), r.details...), ']')
	default:
		name := `,"reasoning":`
		if r.inReasoningContent {
			name = `,"reasoning_content":`
		}
		dst = appendQuoted(append(dst, name...), r.reasoning)
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

// appendWithoutReasoning appends a message, a compact JSON object, without its members of reasoning.
func appendWithoutReasoning(dst, message []byte) []byte {
	var w jsonscan.Walker
	w.Reset(message)
	dst = append(dst, '{')
	empty := true
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		name := string(w.Key)
		quoted := w.RawKey
		value := w.Value()
		switch name {
		case "reasoning", "reasoning_content", "reasoning_details":
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(append(append(dst, '"'), quoted...), `":`...)
		if name == "content" {
			dst = appendWithoutThinking(dst, value)
		} else {
			dst = append(dst, value...)
		}
	}
	return append(dst, '}')
}

// appendWithoutThinking appends a content; if it is a list, without the parts that have a "thinking".
func appendWithoutThinking(dst, content []byte) []byte {
	if len(content) == 0 || content[0] != '[' {
		return append(dst, content...)
	}
	var w jsonscan.Walker
	w.Reset(content)
	dst = append(dst, '[')
	empty := true
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		part := w.Value()
		var inner jsonscan.Walker
		inner.Reset(part)
		thinks := false
		for ok := inner.TryObject(); ok; ok = inner.NextMember() {
			thinks = thinks || string(inner.Key) == "thinking"
			inner.Skip()
		}
		if thinks {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(dst, part...)
	}
	return append(dst, ']')
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
