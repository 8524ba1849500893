package openai

import (
	"github.com/pa-tools/pa/internal/jsonscan"
)

// An ollamaLine holds the members that only lines of Ollama's /api/chat and /api/generate have. The last line, or a whole
// answer, also has the server's times: total_duration, load_duration, prompt_eval_duration and eval_duration, in nanoseconds.
// They are members beside these.
type ollamaLine struct {
	isLine    bool // "done" came
	done      bool
	reason    []byte // done_reason
	generated []byte // response, a text
	hasText   bool
	thinking  []byte // beside response

	prompt, output, cached     int64
	hasPrompt, hasOut, hasSeen bool
}

// member reads a member, and reports whether lines of Ollama have it.
func (l *ollamaLine) member(w *jsonscan.Walker) bool {
	switch string(w.Key) {
	case "done":
		c := w.Peek()
		l.isLine, l.done = c == 't' || c == 'f', c == 't'
		w.Skip()
	case "done_reason":
		l.reason = w.String()
	case "thinking":
		l.thinking = w.String()
	case "prompt_eval_count":
		l.prompt, l.hasPrompt = tokens(w)
	case "prompt_eval_cached_count":
		l.cached, l.hasSeen = tokens(w)
	case "eval_count":
		l.output, l.hasOut = tokens(w)
	default:
		return false
	}
	return true
}

// ollamaEnd makes the choice of a line of Ollama, and reports whether the body is one.
func (n *native) ollamaEnd(c *Chunk) bool {
	l := &n.lines
	isChat := len(n.message) > 0 && n.message[0] == '{'
	if !l.isLine || !isChat && !l.hasText {
		return false
	}
	ch := Choice{Content: l.generated, Reasoning: l.thinking}
	if isChat {
		var w jsonscan.Walker
		w.Reset(n.message)
		ch.parseMessage(&w)
		c.part = replyPart{partOllama, ch.calls}
		ch.calls = nil
	}
	if c.unfinished = !l.done; l.done {
		if ch.FinishReason = l.reason; len(l.reason) == 0 {
			ch.FinishReason = []byte("stop")
		}
	}
	if l.hasPrompt || l.hasOut {
		c.Usage = Usage{PromptTokens: l.prompt, CompletionTokens: l.output, CachedTokens: l.cached}
		c.Usage.total()
		c.HasUsage, c.HasCached = true, l.hasSeen
	}
	c.Choices = append(c.Choices, ch)
	return true
}
