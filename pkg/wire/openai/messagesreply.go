package openai

import (
	"bytes"
	"encoding/json"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A replyBlock is a block of the content of an answer of Messages.
type replyBlock struct {
	kind  string // "type"
	start []byte // the block as it began, compact
	// What deltas added.
	text, signature, partial, citations []byte
}

// addMessages takes a body of Messages.
func (r *Reply) addMessages(c *Chunk) error {
	r.messages = r.messages || c.Messages != MessagePing
	switch c.Messages {
	case MessageStart, MessageDelta:
		r.seen = true
	case MessageWhole:
		r.seen = true
		var w jsonscan.Walker
		w.Reset(c.block.start)
		for ok := w.TryArray(); ok; ok = w.NextElement() {
			if err := r.begin(int64(len(r.blocks)), w.Value()); err != nil {
				return err
			}
		}
	case BlockStart:
		r.seen = true
		return r.begin(c.block.index, c.block.start)
	case BlockDelta:
		r.addDelta(c)
	}
	return nil
}

// begin adds a block.
func (r *Reply) begin(index int64, block []byte) error {
	start, err := AppendCompact(nil, block)
	if err != nil {
		return err
	}
	var p messagesPart
	var w jsonscan.Walker
	w.Reset(start)
	p.parse(&w)
	if r.blockAt == nil {
		r.blockAt = map[int64]int{}
	}
	r.blockAt[index] = len(r.blocks)
	r.blocks = append(r.blocks, replyBlock{kind: string(p.kind), start: start})
	switch {
	case p.calls():
		r.called = true
	case string(p.kind) == "text":
		r.content = append(r.content, p.text...)
	case string(p.kind) == "thinking":
		r.reasoning = append(r.reasoning, p.thinking...)
	}
	return nil
}

// addDelta adds to the block of a delta. A delta of a block that did not begin says nothing.
func (r *Reply) addDelta(c *Chunk) {
	at, ok := r.blockAt[c.block.index]
	if !ok {
		return
	}
	b := &r.blocks[at]
	switch string(c.block.delta) {
	case "signature_delta":
		b.signature = append(b.signature, c.block.signature...)
	case "citations_delta":
		if len(c.block.citation) == 0 {
			return
		}
		if len(b.citations) > 0 {
			b.citations = append(b.citations, ',')
		}
		b.citations = append(b.citations, c.block.citation...)
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		b.text = append(append(b.text, ch.Content...), ch.Reasoning...)
		b.partial = append(b.partial, ch.ToolCalls...)
		r.content, r.reasoning = append(r.content, ch.Content...), append(r.reasoning, ch.Reasoning...)
	}
}

// appendMessages appends the message of an answer of Messages: its blocks as they came, with what deltas added. A text
// without a character is left out, because servers refuse it. ReasoningDrop leaves the thoughts out; they stay otherwise, because
// a server checks their signatures and leaves out by itself what it does not need.
func (r *Reply) appendMessages(dst []byte) ([]byte, error) {
	before := len(dst)
	dst = append(dst, `{"role":"assistant","content":[`...)
	first := len(dst)
	for i := range r.blocks {
		b := &r.blocks[i]
		thought := b.kind == "thinking" || b.kind == "redacted_thinking"
		if thought && r.History == ReasoningDrop {
			continue
		}
		block, err := b.append(nil)
		if err != nil {
			return dst[:before], err
		}
		if block == nil {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(dst, block...)
	}
	if len(dst) == first {
		return dst[:before], nil
	}
	return append(dst, "]}"...), nil
}

// append appends the block as JSON; nothing for an empty text.
func (b *replyBlock) append(dst []byte) ([]byte, error) {
	var p messagesPart
	var w jsonscan.Walker
	w.Reset(b.start)
	p.parse(&w)
	set := []byte{'{'}
	member := func(name string, value []byte) {
		if len(set) > 1 {
			set = append(set, ',')
		}
		set = append(append(appendQuoted(set, []byte(name)), ':'), value...)
	}
	text := func(name string, before, added []byte) {
		if len(added) > 0 {
			member(name, appendQuoted(nil, append(bytes.Clone(before), added...)))
		}
	}
	switch {
	case b.kind == "text":
		if len(p.text)+len(b.text) == 0 {
			return dst, nil
		}
		text("text", p.text, b.text)
		if len(b.citations) > 0 {
			member("citations", append(append([]byte{'['}, b.citations...), ']'))
		}
	case b.kind == "thinking":
		text("thinking", p.thinking, b.text)
		text("signature", p.signature, b.signature)
	case len(b.partial) > 0:
		member("input", inputOf(b.partial))
	}
	if len(set) == 1 {
		return append(dst, b.start...), nil
	}
	block, err := MergeRequest(b.start, append(set, '}'))
	return append(dst, block...), err
}

// inputOf returns the input of a call, an object, from the text that came in pieces. A text that is no object, because
// the answer ended within it, becomes {"INVALID_JSON": text}, as Anthropic advises.
func inputOf(partial []byte) []byte {
	text := bytes.TrimSpace(partial)
	if len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return text
	}
	return append(appendQuoted([]byte(`{"INVALID_JSON":`), partial), '}')
}
