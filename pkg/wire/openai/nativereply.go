package openai

import (
	"bytes"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A replyPart is the JSON that a body adds to the message of a [Reply], where its texts do not say all.
type replyPart struct {
	kind replyKind
	json []byte
}

// A replyKind says what a replyPart holds.
type replyKind uint8

const (
	noPart     replyKind = iota
	partItem             // an item of v1/responses
	partItems            // all items of v1/responses, an array
	partGemini           // parts of a candidate, an array
	partOllama           // tool_calls of a line of Ollama, or nothing
)

// addPart takes the part of a body.
func (r *Reply) addPart(p *replyPart) error {
	var w jsonscan.Walker
	switch w.Reset(p.json); p.kind {
	case partItems:
		r.native, r.items = partItems, r.items[:0]
		for ok := w.TryArray(); ok; ok = w.NextElement() {
			if err := r.addItem(w.Value()); err != nil {
				return err
			}
		}
	case partItem:
		r.native = partItems
		return r.addItem(p.json)
	case partGemini:
		r.native, r.seen = partGemini, true
		if len(p.json) == 0 {
			return nil
		}
		for ok := w.TryArray(); ok; ok = w.NextElement() {
			if err := r.addGemini(w.Value()); err != nil {
				return err
			}
		}
	case partOllama:
		r.native = partOllama
		if len(p.json) == 0 {
			return nil
		}
		for ok := w.TryArray(); ok; ok = w.NextElement() {
			if err := r.addItem(w.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

// addItem adds an item as it is.
func (r *Reply) addItem(js []byte) error {
	item, err := AppendCompact(nil, js)
	if err != nil || len(item) == 0 || item[0] != '{' {
		return err
	}
	r.items = append(r.items, replyItem{json: item})
	if r.native == partItems {
		var i responsesItem
		var w jsonscan.Walker
		w.Reset(item)
		i.parse(&w)
		r.called = r.called || i.calls()
	}
	return nil
}

// A replyItem is an item of v1/responses, a part of Gemini, or a call of Ollama.
type replyItem struct {
	json    []byte // compact; nil for a text of Gemini
	text    []byte
	thought bool
}

// addGemini adds a part of Gemini. Texts that follow each other become one.
func (r *Reply) addGemini(js []byte) error {
	var p geminiPart
	var w jsonscan.Walker
	w.Reset(js)
	if p.parse(&w); !p.plain {
		err := r.addItem(js)
		if err == nil && len(r.items) > 0 {
			r.items[len(r.items)-1].thought = p.thought
		}
		return err
	}
	if len(p.text) == 0 {
		return nil
	}
	if n := len(r.items); n > 0 && r.items[n-1].json == nil && r.items[n-1].thought == p.thought {
		r.items[n-1].text = append(r.items[n-1].text, p.text...)
		return nil
	}
	r.items = append(r.items, replyItem{text: bytes.Clone(p.text), thought: p.thought})
	return nil
}

// appendNative appends the message of an answer of v1/responses, Gemini or Ollama.
func (r *Reply) appendNative(dst []byte) []byte {
	switch r.native {
	case partItems:
		return r.appendItems(dst)
	case partGemini:
		return r.appendGemini(dst)
	}
	return r.appendOllama(dst)
}

// appendItems appends the items of an answer of v1/responses as they came, with commas between them. ReasoningDrop leaves the
// thoughts out; they stay otherwise, because a server leaves out by itself what it does not need.
func (r *Reply) appendItems(dst []byte) []byte {
	first := len(dst)
	for _, item := range r.items {
		var i responsesItem
		var w jsonscan.Walker
		w.Reset(item.json)
		if i.parse(&w); string(i.kind) == "reasoning" && r.History == ReasoningDrop {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(dst, item.json...)
	}
	return dst
}

// appendGemini appends a content with the parts of an answer of Gemini. Thoughts stay as in a chat.
func (r *Reply) appendGemini(dst []byte) []byte {
	before := len(dst)
	dst = append(dst, `{"role":"model","parts":[`...)
	first := len(dst)
	for _, item := range r.items {
		if item.thought && !r.keeps() {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		if item.json != nil {
			dst = append(dst, item.json...)
			continue
		}
		dst = appendQuoted(append(dst, `{"text":`...), item.text)
		if item.thought {
			dst = append(dst, `,"thought":true`...)
		}
		dst = append(dst, '}')
	}
	if len(dst) == first {
		return dst[:before]
	}
	return append(dst, "]}"...)
}

// appendOllama appends the message of an answer of Ollama's /api/chat. The reasoning of an answer without content becomes the
// content, as in a chat.
func (r *Reply) appendOllama(dst []byte) []byte {
	content := r.content
	if r.Contentless() {
		if content = r.reasoning; len(content) == 0 || r.History == ReasoningDrop {
			return dst
		}
	}
	dst = appendQuoted(append(dst, `{"role":"assistant","content":`...), content)
	if len(r.reasoning) > 0 && r.keeps() && !r.Contentless() {
		dst = appendQuoted(append(dst, `,"thinking":`...), r.reasoning)
	}
	for i, call := range r.items {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, call.json...)
	}
	if len(r.items) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
