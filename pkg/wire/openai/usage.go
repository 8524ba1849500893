package openai

import (
	"bytes"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
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
		case "prompt_tokens_details", "input_tokens_details":
			cached = detail(w, "cached_tokens", &u.CachedTokens) || cached
		case "completion_tokens_details", "output_tokens_details":
			reasoning = detail(w, "reasoning_tokens", &u.ReasoningTokens) || reasoning
		default:
			w.Skip()
		}
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

// Timings are the times of an answer at a llama.cpp server, in milliseconds: to process the
// prompt, and to generate the tokens.
type Timings struct{ PromptMS, PredictedMS float64 }

// parseTimings reads the "timings" member. ok is false unless it has both times, not below 0.
func parseTimings(w *jsonscan.Walker) (t Timings, ok bool) {
	var prompt, predicted bool
	for more := w.TryObject(); more; more = w.NextMember() {
		switch key := string(w.Key); key {
		case "prompt_ms", "predicted_ms":
			ms, err := strconv.ParseFloat(string(bytes.TrimSpace(w.Value())), 64)
			if err != nil || !(ms >= 0 && ms < 1e15) {
				continue
			}
			if key == "prompt_ms" {
				t.PromptMS, prompt = ms, true
			} else {
				t.PredictedMS, predicted = ms, true
			}
		default:
			w.Skip()
		}
	}
	return t, prompt && predicted
}
