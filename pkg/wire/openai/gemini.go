package openai

import (
	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
)

// A geminiBody holds the members that only answers of Gemini have.
type geminiBody struct {
	candidates []byte // JSON
	blocked    []byte // promptFeedback.blockReason
}

// member reads a member, and reports whether answers of Gemini have it.
func (g *geminiBody) member(w *jsonscan.Walker, c *Chunk) bool {
	switch string(w.Key) {
	case "candidates":
		g.candidates = w.Value()
	case "usageMetadata":
		c.parseGeminiUsage(w)
	case "promptFeedback":
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			if string(w.Key) == "blockReason" {
				g.blocked = w.String()
			} else {
				w.Skip()
			}
		}
	case "modelVersion":
		c.Model = w.String()
	case "responseId":
		c.ID = w.String()
	default:
		return false
	}
	return true
}

// parseGeminiUsage reads usageMetadata. Thoughts are beside the tokens of the candidates, not in them; results of the
// server's own tools are input beside the prompt.
func (c *Chunk) parseGeminiUsage(w *jsonscan.Walker) {
	var u Usage
	var input, output, cached, thoughts bool
	var ofTools int64
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "promptTokenCount":
			u.PromptTokens, input = tokens(w)
		case "candidatesTokenCount":
			u.CompletionTokens, output = tokens(w)
		case "thoughtsTokenCount":
			u.ReasoningTokens, thoughts = tokens(w)
		case "toolUsePromptTokenCount":
			ofTools, _ = tokens(w)
		case "cachedContentTokenCount":
			u.CachedTokens, cached = tokens(w)
		default:
			w.Skip()
		}
	}
	if input || output || thoughts {
		u.PromptTokens = stat.SaturatingAdd(u.PromptTokens, ofTools)
		u.CompletionTokens = stat.SaturatingAdd(u.CompletionTokens, u.ReasoningTokens)
		u.total()
		c.Usage, c.HasUsage, c.HasCached, c.HasReasoning = u, true, cached, thoughts
	}
}

// total sets TotalTokens to the sum.
func (u *Usage) total() { u.TotalTokens = stat.SaturatingAdd(u.PromptTokens, u.CompletionTokens) }

// end makes the choices of an answer of Gemini, and reports whether the body is one. A prompt that the server does not answer
// is an error.
func (g *geminiBody) end(c *Chunk) bool {
	if g.candidates == nil {
		if len(g.blocked) == 0 || c.Error != nil {
			return false
		}
		c.Error = &Error{Message: "the server does not answer the prompt: blockReason " + OneLine(g.blocked), Type: "blocked"}
		return true
	}
	var w jsonscan.Walker
	w.Reset(g.candidates)
	w.PythonNumbers = true
	for ok := w.TryArray(); ok; ok = w.NextElement() {
		if len(c.Choices) == maxChoices {
			return true
		}
		ch := Choice{Index: len(c.Choices)}
		var parts []byte
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "index":
				if n, ok := count(&w); ok {
					ch.Index = int(n)
				}
			case "finishReason":
				ch.FinishReason = w.String()
			case "content":
				for ok := w.TryObject(); ok; ok = w.NextMember() {
					if string(w.Key) == "parts" {
						parts = w.Value()
					} else {
						w.Skip()
					}
				}
			default:
				w.Skip()
			}
		}
		ch.geminiParts(parts)
		if ch.Index == 0 {
			c.part = replyPart{partGemini, parts}
		}
		c.Choices = append(c.Choices, ch)
	}
	return true
}

// A geminiPart is a part of the content of a candidate.
type geminiPart struct {
	text    []byte
	thought bool
	name    []byte // of functionCall
	args    []byte // of functionCall, or the code of executableCode
	plain   bool   // the part has a text, and perhaps "thought", and nothing else
}

// parse reads an object.
func (p *geminiPart) parse(w *jsonscan.Walker) {
	p.plain = true
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "text":
			p.text = w.String()
		case "thought":
			p.thought = w.Peek() == 't'
			w.Skip()
		case "functionCall", "executableCode":
			p.plain = false
			for ok := w.TryObject(); ok; ok = w.NextMember() {
				switch string(w.Key) {
				case "name":
					p.name = w.String()
				case "args":
					p.args = w.Value()
				case "code":
					p.args = w.String()
				default:
					w.Skip()
				}
			}
		default:
			p.plain = false
			w.Skip()
		}
	}
}

// geminiParts adds the parts of the content of a candidate.
func (c *Choice) geminiParts(parts []byte) {
	if len(parts) == 0 {
		return
	}
	var text, reasoning, calls joiner
	var w jsonscan.Walker
	w.Reset(parts)
	for ok := w.TryArray(); ok; ok = w.NextElement() {
		var p geminiPart
		p.parse(&w)
		if p.thought {
			reasoning.add(p.text)
		} else {
			text.add(p.text)
		}
		calls.add(p.name)
		calls.add(p.args)
	}
	c.Content, c.Reasoning, c.ToolCalls = text.b, reasoning.b, calls.b
}
