package openai

import (
	"bytes"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
)

// A MessagesEvent is the kind of a body of Anthropic Messages.
type MessagesEvent uint8

// The kinds. All other bodies, also events of Messages that are not known, have NotMessages.
const (
	NotMessages MessagesEvent = iota
	// MessageWhole is an answer that is not streamed.
	MessageWhole
	// MessageStart has the model and the tokens of the input.
	MessageStart
	// BlockStart begins a block of the content: a text, a thought, the call of a tool.
	BlockStart
	// BlockDelta adds to a block.
	BlockDelta
	// BlockStop ends a block.
	BlockStop
	// MessageDelta has the reason of the end and the tokens so far.
	MessageDelta
	// MessageStop ends the answer; a Chunk has Done then.
	MessageStop
	// MessagePing says nothing.
	MessagePing
	// MessagesError is an error; a Chunk has Error then.
	MessagesError
)

// messagesStatus returns the HTTP status for a type of error of Anthropic Messages, which has none of its own within a stream;
// 0 for other types.
func messagesStatus(errorType string) int {
	switch errorType {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "api_error":
		return 500
	case "timeout_error":
		return 504
	case "overloaded_error":
		return 529
	}
	return 0
}

// IsMessageStop reports whether a frame is the event message_stop.
func IsMessageStop(frame []byte) bool {
	const longest = 128
	if len(frame) > longest || !bytes.Contains(frame, []byte("message_stop")) {
		return false
	}
	var c Chunk
	return parseFrame(frame, &c) == nil && c.Messages == MessageStop
}

// A messagesPart is the value of delta, of content_block, or of an element of content. Names that are not
// there are nil.
type messagesPart struct {
	kind []byte // "type"
	text, thinking, signature,
	partial, name, stop []byte
	input, citation []byte // JSON
}

// parse reads an object.
func (p *messagesPart) parse(w *jsonscan.Walker) {
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "type":
			p.kind = w.String()
		case "text":
			p.text = w.String()
		case "thinking":
			p.thinking = w.String()
		case "signature":
			p.signature = w.String()
		case "partial_json":
			p.partial = w.String()
		case "name":
			p.name = w.String()
		case "input":
			p.input = w.Value()
		case "citation":
			p.citation = w.Value()
		case "stop_reason":
			p.stop = w.String()
		default:
			w.Skip()
		}
	}
}

// calls reports whether the part is a call of a tool of some kind: tool_use, server_tool_use, mcp_tool_use.
func (p *messagesPart) calls() bool {
	const suffix = "tool_use"
	return len(p.kind) >= len(suffix) && string(p.kind[len(p.kind)-len(suffix):]) == suffix
}

// output adds what the model generated to a choice. whole says that no deltas follow. The name of a tool is output, as it
// is in a chat. Texts of results that tools of the server have found are none.
func (p *messagesPart) output(text, reasoning, calls *joiner, whole bool) {
	switch {
	case string(p.kind) == "text":
		text.add(p.text)
	case string(p.kind) == "thinking":
		reasoning.add(p.thinking)
	case p.calls():
		calls.add(p.name)
		if whole || len(p.input) > len("{}") {
			calls.add(p.input)
		}
	}
}

// A messagesBody holds the members that only bodies of Messages have: delta or content_block, the JSON of content_block and content,
// and stop_reason.
type messagesBody struct {
	part          messagesPart
	start, blocks []byte
	stop          []byte
}

// member reads a member, and reports whether bodies of Messages have it.
func (m *messagesBody) member(w *jsonscan.Walker) bool {
	switch string(w.Key) {
	case "content_block":
		if w.Peek() == '{' {
			from := w.Pos
			m.part.parse(w)
			m.start = w.Text[from:w.Pos]
		} else {
			w.Skip()
		}
	case "stop_reason":
		m.stop = w.String()
	default:
		return false
	}
	return true
}

// A messagesBlock is, for Reply, what an event of Messages has beside its choice.
type messagesBlock struct {
	index     int64
	start     []byte // content_block; content of a whole answer
	delta     []byte // the type of a delta
	signature []byte
	citation  []byte
}

// messagesEnd makes the chunk of a body of Messages, and reports whether it is one.
func (n *native) messagesEnd(c *Chunk) bool {
	var text, reasoning, calls joiner
	m := &n.messages
	output, stop := false, m.stop
	switch string(n.kind) {
	case "content_block_delta":
		c.Messages = BlockDelta
		c.block = messagesBlock{index: n.index, delta: m.part.kind, signature: m.part.signature, citation: m.part.citation}
		output = true
		switch string(m.part.kind) {
		case "text_delta":
			text.add(m.part.text)
		case "thinking_delta":
			reasoning.add(m.part.thinking)
		case "input_json_delta":
			calls.add(m.part.partial)
		default:
			output = false
		}
	case "content_block_start":
		c.Messages = BlockStart
		c.block = messagesBlock{index: n.index, start: m.start}
		m.part.output(&text, &reasoning, &calls, false)
		output = true
	case "content_block_stop":
		c.Messages = BlockStop
	case "message_start":
		c.Messages = MessageStart
		n.begun(c)
	case "message_delta":
		c.Messages = MessageDelta
		stop = m.part.stop
	case "message_stop":
		c.Messages, c.Done = MessageStop, true
	case "ping":
		c.Messages = MessagePing
	case "message":
		if m.blocks == nil {
			return false
		}
		c.Messages, output = MessageWhole, true
		c.block = messagesBlock{start: m.blocks}
		var w jsonscan.Walker
		w.Reset(m.blocks)
		for ok := w.TryArray(); ok; ok = w.NextElement() {
			if w.Peek() != '{' {
				w.Skip()
				continue
			}
			var p messagesPart
			p.parse(&w)
			p.output(&text, &reasoning, &calls, true)
		}
	case "error":
		if c.Error == nil {
			return false
		}
		c.Messages = MessagesError
		c.Error.typed()
		return true
	default:
		return false
	}
	c.countMessages()
	if output || len(stop) > 0 {
		c.Choices = append(c.Choices, Choice{Content: text.b, Reasoning: reasoning.b, ToolCalls: calls.b, FinishReason: stop})
	}
	return true
}

// typed puts the type of an error of Messages, which is all that tells its kind within a stream, into its message, and its
// status into its code.
func (e *Error) typed() {
	if e.Type == "" {
		return
	}
	if status := messagesStatus(e.Type); e.Code == "" && status > 0 {
		e.Code = strconv.Itoa(status)
	}
	if e.Message != "" {
		e.Message = OneLine([]byte(e.Type + ": " + e.Message))
	}
}

// begun reads message of message_start.
func (n *native) begun(c *Chunk) {
	var w jsonscan.Walker
	w.Reset(n.message)
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "id":
			c.ID = w.String()
		case "model":
			c.Model = w.String()
		case "usage":
			c.parseUsage(&w)
		default:
			w.Skip()
		}
	}
	c.Usage.CompletionTokens = 0 // 0 or 1, whatever comes
}

// countMessages makes Usage, which holds input_tokens, what other servers state: the tokens of the input include those
// of the cache.
func (c *Chunk) countMessages() {
	if !c.HasUsage {
		return
	}
	u := &c.Usage
	if c.hasInput {
		u.PromptTokens = stat.SaturatingAdd(u.PromptTokens, stat.SaturatingAdd(c.cacheCreated, c.cacheRead))
		u.CachedTokens, c.HasCached = c.cacheRead, c.hasCacheRead
	} else {
		u.PromptTokens, u.CachedTokens, c.HasCached = 0, 0, false
	}
	u.TotalTokens = stat.SaturatingAdd(u.PromptTokens, u.CompletionTokens)
}

// countMessages takes the usage of an event of Messages. The three numbers of the input are always of one event, the last that
// states input_tokens: a server that knows its cache only at the end puts the whole prompt into message_start. The output is
// counted from the beginning.
func (st *Stream) countMessages(c *Chunk) {
	u := c.Usage
	if !c.hasInput {
		u.PromptTokens, u.CachedTokens = st.Usage.PromptTokens, st.Usage.CachedTokens
	} else {
		st.HasCached = c.HasCached
	}
	if c.Messages == MessageStart || !c.hasOutput {
		u.CompletionTokens, u.ReasoningTokens = st.Usage.CompletionTokens, st.Usage.ReasoningTokens
	} else {
		st.HasReasoning = c.HasReasoning
	}
	u.TotalTokens = stat.SaturatingAdd(u.PromptTokens, u.CompletionTokens)
	st.Usage, st.HasUsage = u, true
}
