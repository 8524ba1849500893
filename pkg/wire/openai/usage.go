package openai

import "github.com/pa-tools/pa/internal/jsonscan"

// Usage is the server's count of tokens.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	TotalTokens      int64
	// CachedTokens of the prompt were not computed anew, ReasoningTokens of
	// the completion are not part of the answer. 0 also when not reported.
	CachedTokens    int64
	ReasoningTokens int64
}

// parseUsage reads the "usage" member. ok is false when it is no object or
// holds no count.
func parseUsage(w *jsonscan.Walker) (u Usage, ok bool) {
	set := func(dst *int64) {
		if n, isCount := count(w); isCount {
			*dst, ok = n, true
		}
	}
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "prompt_tokens", "input_tokens":
			set(&u.PromptTokens)
		case "completion_tokens", "output_tokens":
			set(&u.CompletionTokens)
		case "total_tokens":
			set(&u.TotalTokens)
		case "reasoning_tokens": // SGLang
			set(&u.ReasoningTokens)
		case "prompt_tokens_details", "input_tokens_details":
			detail(w, "cached_tokens", &u.CachedTokens)
		case "completion_tokens_details", "output_tokens_details":
			detail(w, "reasoning_tokens", &u.ReasoningTokens)
		default:
			w.Skip()
		}
	}
	return u, ok
}

// detail reads one count out of an object.
func detail(w *jsonscan.Walker, name string, dst *int64) {
	for more := w.TryObject(); more; more = w.NextMember() {
		if string(w.Key) != name {
			w.Skip()
		} else if n, ok := count(w); ok {
			*dst = n
		}
	}
}
