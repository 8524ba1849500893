package openai

import (
	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
)

// Usage is the server's count of tokens, as the server states it: a number can be below 0, or too great to
// be true. One that does not fit is the nearest int64.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	TotalTokens      int64
	// CachedTokens of the prompt were not computed anew, ReasoningTokens of
	// the completion are not part of the answer. 0 also when not reported.
	CachedTokens    int64
	ReasoningTokens int64
}

// parseUsage reads the "usage" member. It changes nothing when the member is no object or
// holds no count.
func (c *Chunk) parseUsage(w *jsonscan.Walker) {
	var u Usage
	var found, cached, reasoning bool // found: there is a count
	var uncached int64                // input tokens of Bedrock that its cache did not hold
	var bedrock bool
	c.cacheCreated, c.cacheRead, c.hasInput, c.hasOutput, c.hasCacheRead = 0, 0, false, false, false
	set := func(dst *int64) (isCount bool) {
		n, isCount := tokens(w)
		if isCount {
			*dst, found = n, true
		}
		return isCount
	}
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "prompt_tokens", "input_tokens":
			c.hasInput = set(&u.PromptTokens) || c.hasInput
		case "completion_tokens", "output_tokens":
			c.hasOutput = set(&u.CompletionTokens) || c.hasOutput
		case "total_tokens":
			set(&u.TotalTokens)
		case "reasoning_tokens": // SGLang
			if n, isCount := tokens(w); isCount {
				u.ReasoningTokens, found, reasoning = n, true, true
			}
		case "prompt_cache_hit_tokens", "cached_tokens": // DeepSeek; Moonshot
			if n, isCount := tokens(w); isCount && !cached {
				u.CachedTokens, found, cached = n, true, true
			}
		case "cache_creation_input_tokens": // Anthropic, beside input_tokens and not in it
			c.cacheCreated, _ = tokens(w)
		case "cache_read_input_tokens":
			c.cacheRead, c.hasCacheRead = tokens(w)
		case "inputTokens":
			n, isCount := tokens(w)
			uncached, bedrock = stat.SaturatingAdd(uncached, n), bedrock || isCount
		case "outputTokens":
			c.hasOutput = set(&u.CompletionTokens) || c.hasOutput
		case "cacheReadInputTokens":
			cached = set(&u.CachedTokens) || cached
		case "cacheWriteInputTokens":
			n, _ := tokens(w)
			uncached = stat.SaturatingAdd(uncached, n)
		case "totalTokens":
			set(&u.TotalTokens)
		case "tokens": // Cohere, beside billed_units
			for more := w.TryObject(); more; more = w.NextMember() {
				switch string(w.Key) {
				case "input_tokens":
					set(&u.PromptTokens)
				case "output_tokens":
					set(&u.CompletionTokens)
				default:
					w.Skip()
				}
			}
		case "queue_time", "prompt_time", "completion_time": // Groq
			c.addServer(w, readGroqTime)
		case "prompt_tokens_details", "input_tokens_details":
			cached = detail(w, "cached_tokens", &u.CachedTokens) || cached
		case "completion_tokens_details", "output_tokens_details":
			reasoning = detail(w, "reasoning_tokens", &u.ReasoningTokens) || reasoning
		default:
			w.Skip()
		}
	}
	if bedrock {
		u.PromptTokens, found = stat.SaturatingAdd(uncached, u.CachedTokens), true
	}
	if found {
		c.Usage, c.HasUsage, c.HasCached, c.HasReasoning = u, true, cached, reasoning
	}
}

// tokens reads a number of tokens. It skips all other values.
func tokens(w *jsonscan.Walker) (n int64, ok bool) {
	if c := w.Peek(); c != '-' && (c < '0' || c > '9') {
		w.Skip()
		return 0, false
	}
	return parseWhole(w.Value())
}

// detail reads one count out of an object. found says that there is one.
func detail(w *jsonscan.Walker, name string, dst *int64) (found bool) {
	for more := w.TryObject(); more; more = w.NextMember() {
		if string(w.Key) != name {
			w.Skip()
		} else if n, ok := tokens(w); ok {
			*dst, found = n, true
		}
	}
	return found
}
