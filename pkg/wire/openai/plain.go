package openai

import (
	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
)

// A plainBody holds the members that only answers of llama.cpp's /completion, TGI, Triton and vLLM's and SGLang's generate have,
// beside the choice.
type plainBody struct {
	prompt, completion int64  // llama.cpp's counts
	request            []byte // "request_id", vLLM's
}

// plainMember reads a member, and reports whether such answers have it.
func (n *native) plainMember(w *jsonscan.Walker) bool {
	switch string(w.Key) {
	case "text_output":
		n.present, n.choice.Unmarked = true, true
		n.choice.Content = content(w)
	case "request_id":
		n.plain.request = w.String()
	case "tokens", "output_ids":
		n.choice.TokenIDs = length(w)
	case "stop":
		n.ended = w.Peek() == 't'
		w.Skip()
	case "tokens_predicted":
		n.plain.completion, _ = tokens(w)
	case "tokens_evaluated":
		n.plain.prompt, _ = tokens(w)
	case "token":
		n.token(w)
	case "generated_text":
		if w.Peek() == '"' {
			n.present, n.ended = true, true
		}
		w.Skip()
	default:
		return false
	}
	return true
}

// token reads TGI's token. A special token adds no text.
func (n *native) token(w *jsonscan.Walker) {
	if w.Peek() != '{' {
		w.Skip()
		return
	}
	n.present = true
	special := false
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "text":
			n.choice.Content = w.String()
		case "special":
			special = w.Peek() == 't'
			w.Skip()
		default:
			w.Skip()
		}
	}
	if special {
		n.choice.Content = nil
	}
}

// count sets the usage of the end of an answer to the counts of llama.cpp, if the body states no other.
func (p *plainBody) count(c *Chunk) {
	if !c.HasUsage && (p.prompt != 0 || p.completion != 0) {
		c.Usage = Usage{PromptTokens: p.prompt, CompletionTokens: p.completion, TotalTokens: stat.SaturatingAdd(p.prompt, p.completion)}
		c.HasUsage = true
	}
}
