package openai

import "github.com/pa-tools/pa/internal/jsonscan"

// native collects the members of answers without choices. They become one choice:
//
//	llama.cpp /completion      {"content":" x","tokens":[5],"stop":false}
//	TGI /generate_stream       {"token":{"text":" x"},"generated_text":null}
//	Triton generate_stream     {"model_name":"m","text_output":" x"}
//	OpenAI v1/responses        {"type":"response.output_text.delta","delta":" x"}
//	                           {"type":"response.completed","response":{…}}
//	                           {"object":"response","output":[…]}
//	SGLang /generate           {"text":"a b","output_ids":[5,6],"meta_info":{"completion_tokens":2}}
//	OpenAI v1/audio/…          {"type":"transcript.text.delta","delta":" x"}
//	                           {"type":"transcript.text.done","text":" x y"}
//	                           {"type":"speech.audio.delta","audio":"…"}
//	                           {"text":" x y"}
//	vLLM and OpenAI v1/realtime {"type":"transcription.delta","delta":" x"}
//	                           {"type":"conversation.item.input_audio_transcription.completed","transcript":" x"}
//	Anthropic v1/messages      {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}
//	                           {"type":"message","content":[…],"stop_reason":"end_turn"}
//	Ollama /api/chat           {"message":{"role":"assistant","content":" x"},"done":false}
//	Ollama /api/generate       {"response":" x","done":false}
//	Gemini generateContent     {"candidates":[{"content":{"parts":[{"text":" x"}]},"index":0}]}
type native struct {
	choice  Choice
	present bool // choice means something
	ended   bool

	// Members that bodies of several protocols have.
	kind    []byte // "type"
	delta   []byte
	text    []byte
	index   int64
	message []byte // JSON
	nested  []byte // "status" of a response

	plain     plainBody
	messages  messagesBody
	responses responsesEvent
	audio     audioBody
	lines     ollamaLine
	gemini    geminiBody
}

// member reads a member that only answers without choices have.
func (n *native) member(w *jsonscan.Walker, c *Chunk) {
	switch string(w.Key) {
	case "content":
		switch w.Peek() {
		case '"':
			n.present = true
			n.choice.Content = w.String()
		case '[':
			n.messages.blocks = w.Value()
		default:
			w.Skip()
		}
	case "text":
		n.text = w.String()
	case "type":
		n.kind = w.String()
	case "delta":
		if w.Peek() == '{' {
			n.messages.part.parse(w)
		} else {
			n.delta = w.String()
		}
	case "index":
		n.index, _ = count(w)
	case "message":
		n.message = w.Value()
	case "response":
		if w.Peek() == '"' {
			n.lines.generated, n.lines.hasText = w.String(), true
		} else {
			n.responses.response(w, c)
		}
	case "output":
		n.output(w, c)
	case "status":
		n.status(w.String())
	default:
		if !n.plainMember(w) && !n.messages.member(w) && !n.responses.member(w) && !n.audio.member(w) && !n.lines.member(w) && !n.gemini.member(w, c) {
			w.Skip()
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

// end adds the choice, unless the body has choices.
func (n *native) end(c *Chunk) {
	if len(c.ID) == 0 && (len(c.Choices) > 0 || c.HasUsage) {
		c.ID = n.plain.request
	}
	if len(c.Choices) > 0 {
		return
	}
	if len(n.kind) == 0 {
		if n.gemini.end(c) || n.ollamaEnd(c) {
			return
		}
		n.textEnd(c)
	} else if n.messagesEnd(c) || !n.audioEnd(c) && !n.responsesEnd(c) {
		return
	}
	if !n.present {
		return
	}
	if n.ended {
		n.choice.FinishReason = []byte("stop")
		if len(n.nested) > 0 {
			n.choice.FinishReason = n.nested
		}
		n.plain.count(c)
	}
	c.Choices = append(c.Choices, n.choice)
}
