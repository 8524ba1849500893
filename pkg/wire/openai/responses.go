package openai

import (
	"bytes"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A responsesPiece names the text that an event of v1/responses adds to or repeats.
type responsesPiece struct {
	kind []byte // the type of the event without its last word, such as response.output_text
	item []byte // item_id; nil if the event has output_index
	// output is output_index, and part is content_index or summary_index.
	output, part int64
	done         bool // the event has the whole text
}

// A pieceKey is a responsesPiece as the key of a map.
type pieceKey struct {
	kind, item   string
	output, part int64
}

// A responsesItem holds the members of an item of v1/responses that have output.
type responsesItem struct {
	kind                         []byte // "type"
	content, summary, name, args []byte
	refusal                      []byte
}

// parse reads an object.
func (i *responsesItem) parse(w *jsonscan.Walker) {
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "type":
			i.kind = w.String()
		case "content":
			i.content, i.refusal = itemContent(w)
		case "summary":
			i.summary = content(w)
		case "name":
			i.name = w.String()
		case "arguments", "input":
			i.args = w.String()
		default:
			w.Skip()
		}
	}
}

// itemContent reads the content of an item: a text, or parts with a text or a refusal.
func itemContent(w *jsonscan.Walker) (text, refusal []byte) {
	if w.Peek() != '[' {
		return w.String(), nil
	}
	var t, r joiner
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "text":
				t.add(w.String())
			case "refusal":
				r.add(w.String())
			default:
				w.Skip()
			}
		}
	}
	return t.b, r.b
}

// calls reports whether the item is a call of a tool of some kind: function_call, custom_tool_call, mcp_call.
func (i *responsesItem) calls() bool {
	return len(i.name) > 0 && bytes.HasSuffix(i.kind, []byte("_call"))
}

// A responsesEvent holds the members that only events of v1/responses have.
type responsesEvent struct {
	piece     responsesPiece
	hasOutput bool   // output_index came
	text      []byte // of an event with the whole text
	item      []byte // JSON
	output    []byte // of "response", JSON
}

// member reads a member, and reports whether events of v1/responses have it.
func (e *responsesEvent) member(w *jsonscan.Walker) bool {
	switch string(w.Key) {
	case "item_id":
		e.piece.item = w.String()
	case "output_index":
		e.piece.output, e.hasOutput = count(w)
	case "content_index", "summary_index":
		e.piece.part, _ = count(w)
	case "arguments", "refusal", "input", "code":
		e.text = w.String()
	case "item":
		e.item = w.Value()
	default:
		return false
	}
	return true
}

// response reads the state of the answer in some events of v1/responses, whose output came
// earlier in deltas.
func (e *responsesEvent) response(w *jsonscan.Walker, c *Chunk) {
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "id":
			c.ID = w.String()
		case "model":
			c.Model = w.String()
		case "usage":
			c.parseUsage(w)
		case "error":
			c.parseError(w)
		case "metrics":
			c.addServer(w, readMetrics)
		case "output":
			e.output = w.Value()
		default:
			w.Skip()
		}
	}
}

// output reads the items of a whole answer of v1/responses.
func (n *native) output(w *jsonscan.Walker, c *Chunk) {
	if w.Peek() != '[' {
		w.Skip()
		return
	}
	n.present = true
	from := w.Pos
	var text, reasoning, refusal, calls joiner
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		var i responsesItem
		i.parse(w)
		if string(i.kind) == "reasoning" {
			reasoning.add(i.summary)
			reasoning.add(i.content)
			continue
		}
		text.add(i.content)
		refusal.add(i.refusal)
		if len(i.name) > 0 {
			calls.add(i.name)
			calls.add(i.args)
		}
	}
	n.choice.Content, n.choice.Reasoning, n.choice.Refusal, n.choice.ToolCalls = text.b, reasoning.b, refusal.b, calls.b
	c.part = replyPart{partItems, w.Text[from:w.Pos]}
}

// responsesEnd makes the choice of an event of v1/responses, and reports whether the event has one.
func (n *native) responsesEnd(c *Chunk) bool {
	e := &n.responses
	switch string(n.kind) {
	case "response.completed", "response.incomplete":
		n.present, n.ended = true, true
		if len(e.output) > len("[]") {
			c.part = replyPart{partItems, e.output}
		}
		return true
	case "response.failed", "response.cancelled":
		if c.Error == nil {
			c.Error = &Error{Type: string(n.kind)}
		}
		return false
	case "response.output_item.added", "response.output_item.done":
		if bytes.HasSuffix(n.kind, []byte(".done")) {
			c.part = replyPart{partItem, e.item}
			return false
		}
		var i responsesItem
		var w jsonscan.Walker
		w.Reset(e.item)
		if len(e.item) > 0 {
			i.parse(&w)
		}
		if !i.calls() {
			return false
		}
		n.present, n.choice.ToolCalls = true, i.name
		return true
	}
	text := n.delta
	kind, isDelta := bytes.CutSuffix(n.kind, []byte(".delta"))
	if !isDelta {
		if kind, e.piece.done = bytes.CutSuffix(n.kind, []byte(".done")); !e.piece.done {
			return false
		}
		text = e.text
		if len(text) == 0 {
			text = n.text
		}
	}
	if len(text) == 0 {
		return false
	}
	switch {
	case bytes.Contains(kind, []byte("reasoning")):
		n.choice.Reasoning = text
	case bytes.Contains(kind, []byte("refusal")):
		n.choice.Refusal = text
	case bytes.Contains(kind, []byte("arguments")), bytes.HasSuffix(kind, []byte("_call_input")), bytes.HasSuffix(kind, []byte("_call_code")):
		n.choice.ToolCalls = text
	case bytes.Contains(kind, []byte("text")), bytes.Contains(kind, []byte("transcription")):
		n.choice.Content = text
	default:
		return false
	}
	n.present = true
	c.piece = e.piece
	c.piece.kind = kind
	if e.hasOutput {
		c.piece.item = nil
	}
	return true
}

// unrepeated drops the text of an event of v1/responses that repeats what came in deltas.
func (st *Stream) unrepeated(c *Chunk) {
	p := &c.piece
	came := st.pieces[pieceKey{string(p.kind), string(p.item), p.output, p.part}]
	switch {
	case came && p.done:
		c.Choices = c.Choices[:0]
	case !came:
		if st.pieces == nil {
			st.pieces = map[pieceKey]bool{}
		}
		st.pieces[pieceKey{string(p.kind), string(p.item), p.output, p.part}] = true
	}
}

// IsResponsesEnd reports whether a frame is an event that ends an answer of v1/responses.
func IsResponsesEnd(frame []byte) bool {
	if !bytes.Contains(frame, []byte(`response.completed`)) && !bytes.Contains(frame, []byte(`response.incomplete`)) {
		return false
	}
	var c Chunk
	return parseFrame(frame, &c) == nil && c.Error == nil && len(c.Choices) == 1 && len(c.Choices[0].FinishReason) > 0
}
