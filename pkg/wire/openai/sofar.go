package openai

import (
	"bytes"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
)

// metaInfo reads the member meta_info of an answer of SGLang's generate. It counts like usage; completion_tokens is the number of
// tokens of the choice so far.
func (n *native) metaInfo(w *jsonscan.Walker, c *Chunk) {
	raw := w.Value()
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	n.present, n.choice.soFar = true, true
	w.Pos -= len(raw)
	c.parseUsage(w)
	n.choice.generated = c.Usage.CompletionTokens
	w.Pos -= len(raw)
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "id":
			c.ID = w.String()
		case "finish_reason":
			n.finishReason(w, c)
		default:
			w.Skip()
		}
	}
}

// finishReason reads SGLang's finish_reason: an object with a type. An answer of the type abort is an error.
func (n *native) finishReason(w *jsonscan.Walker, c *Chunk) {
	if w.Peek() != '{' {
		n.choice.FinishReason = w.String()
		return
	}
	var aborted Error
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "type":
			n.choice.FinishReason = w.String()
		case "message":
			aborted.Message = OneLine(w.String())
		case "err_type":
			aborted.Type = OneLine(w.String())
		case "status_code":
			if w.Peek() == '"' {
				aborted.Code = OneLine(w.String())
			} else {
				aborted.Code = OneLine(w.Value())
			}
		default:
			w.Skip()
		}
	}
	if string(n.choice.FinishReason) == "abort" && c.Error == nil {
		if aborted.Code == "null" {
			aborted.Code = ""
		}
		c.Error = &aborted
	}
}

// A soFar is what a stream of SGLang's generate has said of one choice.
type soFar struct {
	text   []byte // all of it, unless events hold parts
	parts  bool   // the text of an event is what it adds
	tokens int64  // by completion_tokens
	ids    int    // in the last event, if events hold all ids so far
}

// add changes a choice that holds the whole answer so far to what it adds. A server with incremental output sends only what is
// new: its text does not begin with the text before, and it has fewer ids than completion_tokens.
func (p *soFar) add(ch *Choice) {
	ids := ch.TokenIDs
	whole := int64(ids) >= ch.generated
	if whole && ids > 0 {
		ch.TokenIDs, p.ids = max(ids-p.ids, 0), ids
	}
	switch all := ch.Content; {
	case p.parts:
	case bytes.HasPrefix(all, p.text):
		ch.Content = all[len(p.text):]
		p.text = append(p.text, ch.Content...)
	case whole && ids > 0: // the end of the text changed, such as half a character
		n := 0
		for n < len(all) && n < len(p.text) && all[n] == p.text[n] {
			n++
		}
		ch.Content, p.text = all[n:], append(p.text[:n], all[n:]...)
	case len(all) > 0:
		p.parts, p.text = true, nil
	}
	p.tokens = max(p.tokens, ch.generated)
}

// addSoFar is Add's part for the choices of SGLang's generate. The counts of Usage then cover all choices together.
func (st *Stream) addSoFar(c *Chunk) {
	for i := range c.Choices {
		ch := &c.Choices[i]
		if !ch.soFar {
			continue
		}
		p := st.soFar[ch.Index]
		if p == nil {
			if st.soFar == nil {
				st.soFar = map[int]*soFar{}
			}
			p = &soFar{}
			st.soFar[ch.Index] = p
		}
		before := p.tokens
		p.add(ch)
		st.generated = stat.SaturatingAdd(st.generated, p.tokens-before)
	}
}
