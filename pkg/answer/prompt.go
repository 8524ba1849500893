package answer

import (
	"encoding/json"

	"github.com/pa-tools/pa/pkg/export"
)

// A Prompt is what a request asks: the texts of its prompt, and how long the answer shall be.
type Prompt struct {
	Model    any             `json:"model"`
	Tools    json.RawMessage `json:"tools"`
	System   any             `json:"system"` // of Anthropic Messages
	Messages []struct {
		Role      any             `json:"role"`
		Content   any             `json:"content"`
		ToolCalls json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
	Prompt any `json:"prompt"`
	Input  any `json:"input"`

	Instructions any    `json:"instructions"`         // of v1/responses
	Previous     string `json:"previous_response_id"` // the answer of v1/responses behind which the server has the rest of the prompt
	// Of Gemini.
	SystemInstruction any `json:"systemInstruction"`
	Contents          any `json:"contents"`

	MaxTokens           any `json:"max_tokens"`
	MaxCompletionTokens any `json:"max_completion_tokens"`
	MinTokens           any `json:"min_tokens"`
	IgnoreEOS           any `json:"ignore_eos"`
}

// PromptOf returns the prompt of r; nil if r has none that can be read, or if only the server has the whole prompt.
func PromptOf(r *export.Request) *Prompt {
	var p Prompt
	if body, ok := r.Inputs.Get("payload"); ok {
		if json.Unmarshal(body.Bytes(), &p) != nil || p.Previous != "" {
			return nil
		}
	} else if text, ok := r.Inputs.Get("text_input"); ok {
		if text.Text {
			p.Prompt = string(text.Bytes())
		} else if json.Unmarshal(text.Bytes(), &p.Prompt) != nil {
			return nil
		}
	} else {
		return nil
	}
	return &p
}

// A PromptReader gets a prompt piece by piece.
type PromptReader interface {
	// Mark gets what tells the next text from equal ones: the model, a role, the tools of a prompt, the tool calls of a message. Its own
	// tokens do not count.
	Mark(text []byte)
	Text(text string)
	TokenID(id float64)
}

// Read passes the pieces of the prompt to a reader, in their order.
func (p *Prompt) Read(to PromptReader) {
	w := promptWalker{to}
	w.role(p.Model) // models share no cache
	w.mark(p.Tools)
	if p.System != nil {
		w.role("system")
		w.walk(p.System)
	}
	for _, instructions := range []any{p.Instructions, p.SystemInstruction} {
		if instructions != nil {
			w.role("system")
			w.walk(instructions)
		}
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		w.role(m.Role)
		w.mark(m.ToolCalls)
		w.walk(m.Content)
	}
	w.walk(p.Prompt)
	w.walk(p.Input)
	w.walk(p.Contents)
}

// Several reports whether the request asks several prompts.
func (p *Prompt) Several() bool {
	list, ok := p.Prompt.([]any)
	if !ok || len(list) < 2 {
		return false
	}
	_, ids := list[0].(float64)
	return !ids
}

// FixedOutput returns the number of output tokens if the request asks for exactly so many: the most tokens, without an
// earlier end.
func (p *Prompt) FixedOutput() export.Int {
	most, ok := p.MaxCompletionTokens.(float64)
	if !ok {
		most, ok = p.MaxTokens.(float64)
	}
	least, _ := p.MinTokens.(float64)
	ignore, _ := p.IgnoreEOS.(bool)
	if !ok || most < 1 || !PossibleTokens(int64(most)) || least != most && !ignore {
		return export.Int{}
	}
	return export.IntOf(int64(most))
}

// countPrompt returns the number of tokens in the texts of the prompt of r, each text
// counted by itself, without special tokens and chat template. A prompt of token ids has
// their number. The number is missing if r has no text and no ids, or if tc could not count
// a text; then err says why.
func countPrompt(tc TokenCounter, r *export.Request) (n export.Int, err error) {
	prompt := PromptOf(r)
	if prompt == nil {
		return export.Int{}, nil
	}
	p := promptCounter{counter: tc}
	prompt.Read(&p)
	if p.err != nil || !p.found {
		return export.Int{}, p.err
	}
	return export.IntOf(p.tokens), nil
}

// A promptCounter counts the tokens of a prompt.
type promptCounter struct {
	counter TokenCounter
	tokens  int64
	found   bool // the prompt has a text or a token id
	err     error
}

// Mark implements PromptReader.
func (p *promptCounter) Mark([]byte) {}

// Text implements PromptReader.
func (p *promptCounter) Text(text string) {
	p.found = true
	n, err := p.counter.CountTokens([]byte(text))
	if err != nil {
		p.err = err
	}
	p.tokens += int64(n)
}

// TokenID implements PromptReader.
func (p *promptCounter) TokenID(float64) {
	p.found = true
	p.tokens++
}

// A promptWalker passes values of JSON to a PromptReader.
type promptWalker struct{ to PromptReader }

func (w promptWalker) mark(text json.RawMessage) {
	if text != nil {
		w.to.Mark(text)
	}
}

// role passes the role of a message, or the name of a model.
func (w promptWalker) role(v any) {
	if role, ok := v.(string); ok {
		w.to.Mark([]byte(role))
	}
}

// walk passes a text, a token id, a message, a part of a message's content, or a list of them.
func (w promptWalker) walk(v any) {
	switch v := v.(type) {
	case string:
		w.to.Text(v)
	case float64:
		w.to.TokenID(v)
	case []any:
		for _, e := range v {
			w.walk(e)
		}
	case map[string]any:
		w.role(v["role"])
		if v["type"] == "tool_use" { // of Anthropic Messages, where a chat has tool_calls
			call, _ := json.Marshal(v) // it was JSON
			w.mark(call)
		}
		if v["type"] == "function_call" || v["functionCall"] != nil { // of v1/responses, and of Gemini
			call, _ := json.Marshal(v)
			w.mark(call)
		}
		w.walk(v["thinking"])
		w.walk(v["text"])
		w.walk(v["content"])
		w.walk(v["parts"])
		if v["type"] == "function_call_output" {
			w.walk(v["output"])
		}
	}
}
