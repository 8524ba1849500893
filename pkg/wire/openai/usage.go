package openai

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
func parseUsage(s *scanner) (u Usage, ok bool) {
	if s.peek() != '{' {
		s.skip()
		return u, false
	}
	set := func(dst *int64) {
		if n, isCount := s.count(); isCount {
			*dst, ok = n, true
		}
	}
	for more := s.openObject(); more; more = s.nextMember() {
		switch string(s.key) {
		case "prompt_tokens", "input_tokens":
			set(&u.PromptTokens)
		case "completion_tokens", "output_tokens":
			set(&u.CompletionTokens)
		case "total_tokens":
			set(&u.TotalTokens)
		case "reasoning_tokens": // SGLang
			set(&u.ReasoningTokens)
		case "prompt_tokens_details", "input_tokens_details":
			detail(s, "cached_tokens", &u.CachedTokens)
		case "completion_tokens_details", "output_tokens_details":
			detail(s, "reasoning_tokens", &u.ReasoningTokens)
		default:
			s.skip()
		}
	}
	return u, ok
}

// detail reads one count out of an object.
func detail(s *scanner, name string, dst *int64) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for more := s.openObject(); more; more = s.nextMember() {
		if string(s.key) != name {
			s.skip()
		} else if n, ok := s.count(); ok {
			*dst = n
		}
	}
}
