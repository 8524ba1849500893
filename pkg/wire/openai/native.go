package openai

import "bytes"

// native gathers the members of answers that have no choices. They become one
// choice:
//
//	llama.cpp /completion      {"content":" x","tokens":[5],"stop":false}
//	TGI /generate_stream       {"token":{"text":" x"},"generated_text":null}
//	Triton generate_stream     {"model_name":"m","text_output":" x"}
//	OpenAI v1/responses        {"type":"response.output_text.delta","delta":" x"}
//	                           {"type":"response.completed","response":{…}}
//	                           {"object":"response","output":[…]}
type native struct {
	choice  Choice
	present bool // choice means something

	kind   []byte // "type"
	delta  []byte
	ended  bool
	nested []byte // "status" of "response"

	prompt, completion int64 // llama.cpp's counts
}

// member reads the value of a member that no chunk with choices has.
func (n *native) member(s *scanner, c *Chunk) {
	switch string(s.key) {
	case "text_output":
		n.present, n.choice.Unmarked = true, true
		n.choice.Content = content(s)
	case "content":
		if s.peek() == '"' {
			n.present = true
		}
		n.choice.Content = s.text()
	case "tokens":
		n.choice.TokenIDs = length(s)
	case "stop":
		n.ended = s.peek() == 't'
		s.skip()
	case "tokens_predicted":
		n.completion, _ = s.count()
	case "tokens_evaluated":
		n.prompt, _ = s.count()
	case "token":
		n.token(s)
	case "generated_text":
		if s.peek() == '"' {
			n.present, n.ended = true, true
		}
		s.skip()
	case "type":
		n.kind = s.text()
	case "delta":
		n.delta = s.text()
	case "response":
		n.response(s, c)
	case "output":
		n.output(s)
	case "status":
		n.status(s.text())
	default:
		s.skip()
	}
}

// token reads TGI's token; special ones are no text.
func (n *native) token(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	n.present = true
	special := false
	for ok := s.openObject(); ok; ok = s.nextMember() {
		switch string(s.key) {
		case "text":
			n.choice.Content = s.text()
		case "special":
			special = s.peek() == 't'
			s.skip()
		default:
			s.skip()
		}
	}
	if special {
		n.choice.Content = nil
	}
}

// response reads the state of the answer that some events of v1/responses
// carry. Its output came in deltas before.
func (n *native) response(s *scanner, c *Chunk) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for ok := s.openObject(); ok; ok = s.nextMember() {
		switch string(s.key) {
		case "id":
			c.ID = s.text()
		case "model":
			c.Model = s.text()
		case "usage":
			if u, ok := parseUsage(s); ok {
				c.Usage, c.HasUsage = u, true
			}
		case "error":
			if raw := s.value(); len(raw) > 0 {
				c.Error = errorValue(raw)
			}
		default:
			s.skip()
		}
	}
}

func (n *native) status(text []byte) {
	switch string(text) {
	case "completed", "incomplete":
		n.ended = true
		n.nested = text
	}
}

// output reads the items of a whole answer of v1/responses.
func (n *native) output(s *scanner) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	n.present = true
	var text, reasoning, calls joiner
	for ok := s.openArray(); ok; ok = s.nextElement() {
		if s.peek() != '{' {
			s.skip()
			continue
		}
		for ok := s.openObject(); ok; ok = s.nextMember() {
			switch string(s.key) {
			case "content":
				text.add(content(s))
			case "summary":
				reasoning.add(content(s))
			case "name", "arguments":
				calls.add(s.text())
			default:
				s.skip()
			}
		}
	}
	n.choice.Content, n.choice.Reasoning, n.choice.ToolCalls = text.b, reasoning.b, calls.b
}

// end makes the choice, unless the body has choices of its own.
func (n *native) end(c *Chunk) {
	switch kind := string(n.kind); kind {
	case "":
	case "response.completed", "response.incomplete":
		n.present, n.ended = true, true
	default:
		if !bytes.HasSuffix(n.kind, []byte(".delta")) || len(n.delta) == 0 {
			return
		}
		n.present = true
		switch {
		case bytes.Contains(n.kind, []byte("reasoning")):
			n.choice.Reasoning = n.delta
		case bytes.Contains(n.kind, []byte("refusal")):
			n.choice.Refusal = n.delta
		case bytes.Contains(n.kind, []byte("arguments")):
			n.choice.ToolCalls = n.delta
		case bytes.Contains(n.kind, []byte("text")):
			n.choice.Content = n.delta
		}
	}
	if !n.present || len(c.Choices) > 0 {
		return
	}
	if n.ended {
		n.choice.FinishReason = []byte("stop")
		if len(n.nested) > 0 {
			n.choice.FinishReason = n.nested
		}
		if !c.HasUsage && n.prompt+n.completion > 0 {
			c.Usage = Usage{PromptTokens: n.prompt, CompletionTokens: n.completion, TotalTokens: n.prompt + n.completion}
			c.HasUsage = true
		}
	}
	c.Choices = append(c.Choices, n.choice)
}
