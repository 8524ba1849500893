package answer

import (
	"encoding/json"

	"github.com/pa-tools/pa/pkg/export"
)

// countPrompt returns the number of tokens in the texts of the prompt of r, each text
// counted by itself, without special tokens and chat template. A prompt of token ids has
// their number. The number is missing if r has no text and no ids, or if tc could not count
// a text; then err says why.
func countPrompt(tc TokenCounter, r *export.Request) (n Value, err error) {
	p := promptCounter{counter: tc}
	if body, ok := r.Inputs.Get("payload"); ok {
		var prompt struct {
			Messages []struct {
				Content any `json:"content"`
			} `json:"messages"`
			Prompt any `json:"prompt"`
			Input  any `json:"input"`
		}
		if json.Unmarshal(body.Bytes(), &prompt) != nil {
			return Value{}, nil
		}
		for i := range prompt.Messages {
			p.add(prompt.Messages[i].Content)
		}
		p.add(prompt.Prompt)
		p.add(prompt.Input)
	} else if text, ok := r.Inputs.Get("text_input"); ok {
		var v any
		if text.Text {
			v = string(text.Bytes())
		} else if json.Unmarshal(text.Bytes(), &v) != nil {
			return Value{}, nil
		}
		p.add(v)
	}
	if p.err != nil || !p.found {
		return Value{}, p.err
	}
	return Some(p.tokens), nil
}

// A promptCounter counts the tokens of a prompt.
type promptCounter struct {
	counter TokenCounter
	tokens  int64
	found   bool // the prompt has a text or a token id
	err     error
}

// add adds a text, a token id, a message, a part of a message's content, or a list of them.
func (p *promptCounter) add(v any) {
	switch v := v.(type) {
	case string:
		p.found = true
		n, err := p.counter.CountTokens([]byte(v))
		if err != nil {
			p.err = err
		}
		p.tokens += int64(n)
	case float64:
		p.found = true
		p.tokens++
	case []any:
		for _, e := range v {
			p.add(e)
		}
	case map[string]any:
		p.add(v["text"])
		p.add(v["content"])
	}
}
