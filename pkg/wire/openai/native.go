package openai

import (
	"bytes"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/stat"
)

// native collects the members of answers without choices. They become one choice:
//
//	llama.cpp /completion      {"content":" x","tokens":[5],"stop":false}
//	TGI /generate_stream       {"token":{"text":" x"},"generated_text":null}
//	Triton generate_stream     {"model_name":"m","text_output":" x"}
//	OpenAI v1/responses        {"type":"response.output_text.delta","delta":" x"}
//	                           {"type":"response.completed","response":{…}}
//	                           {"object":"response","output":[…]}
//	vLLM and OpenAI v1/realtime {"type":"transcription.delta","delta":" x"}
//	                           {"type":"conversation.item.input_audio_transcription.completed","transcript":" x"}
//	Anthropic v1/messages      {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}
//	                           {"type":"message","content":[…],"stop_reason":"end_turn"}
type native struct {
	choice  Choice
	present bool // choice means something

	kind   []byte // "type"
	delta  []byte
	ended  bool
	nested []byte // "status" of "response"

	prompt, completion int64 // llama.cpp's counts

	// Of Messages: delta or content_block, its JSON if it is content_block, message and content as JSON, and stop_reason.
	part                   messagesPart
	index                  int64
	start, message, blocks []byte
	stop                   []byte
}

// member reads a member that only answers without choices have.
func (n *native) member(w *jsonscan.Walker, c *Chunk) {
	switch string(w.Key) {
	case "text_output":
		n.present, n.choice.Unmarked = true, true
		n.choice.Content = content(w)
	case "content":
		switch w.Peek() {
		case '"':
			n.present = true
			n.choice.Content = w.String()
		case '[':
			n.blocks = w.Value()
		default:
			w.Skip()
		}
	case "tokens":
		n.choice.TokenIDs = length(w)
	case "stop":
		n.ended = w.Peek() == 't'
		w.Skip()
	case "tokens_predicted":
		n.completion, _ = tokens(w)
	case "tokens_evaluated":
		n.prompt, _ = tokens(w)
	case "token":
		n.token(w)
	case "generated_text":
		if w.Peek() == '"' {
			n.present, n.ended = true, true
		}
		w.Skip()
	case "type":
		n.kind = w.String()
	case "delta":
		if w.Peek() == '{' {
			n.part.parse(w)
		} else {
			n.delta = w.String()
		}
	case "index":
		n.index, _ = count(w)
	case "content_block":
		if w.Peek() == '{' {
			from := w.Pos
			n.part.parse(w)
			n.start = w.Text[from:w.Pos]
		} else {
			w.Skip()
		}
	case "message":
		n.message = w.Value()
	case "stop_reason":
		n.stop = w.String()
	case "response":
		n.response(w, c)
	case "output":
		n.output(w)
	case "status":
		n.status(w.String())
	default:
		w.Skip()
	}
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

// response reads the state of the answer in some events of v1/responses. The output came
// earlier, in deltas.
func (n *native) response(w *jsonscan.Walker, c *Chunk) {
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "id":
			c.ID = w.String()
		case "model":
			c.Model = w.String()
		case "usage":
			c.parseUsage(w)
		case "error":
			c.parseError(w)
		default:
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

// output reads the items of a whole answer of v1/responses.
func (n *native) output(w *jsonscan.Walker) {
	if w.Peek() != '[' {
		w.Skip()
		return
	}
	n.present = true
	var text, reasoning, calls joiner
	for ok := w.OpenArray(); ok; ok = w.NextElement() {
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			switch string(w.Key) {
			case "content":
				text.add(content(w))
			case "summary":
				reasoning.add(content(w))
			case "name", "arguments":
				calls.add(w.String())
			default:
				w.Skip()
			}
		}
	}
	n.choice.Content, n.choice.Reasoning, n.choice.ToolCalls = text.b, reasoning.b, calls.b
}

// end adds the choice, unless the body has choices.
func (n *native) end(c *Chunk) {
	if len(n.kind) > 0 && len(c.Choices) == 0 && n.messages(c) {
		return
	}
	switch kind := string(n.kind); kind {
	case "":
	case "response.completed", "response.incomplete", RealtimeDone, RealtimeCompleted:
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
		case bytes.Contains(n.kind, []byte("text")), bytes.Contains(n.kind, []byte("transcription")):
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
		if !c.HasUsage && (n.prompt != 0 || n.completion != 0) {
			c.Usage = Usage{PromptTokens: n.prompt, CompletionTokens: n.completion, TotalTokens: stat.SaturatingAdd(n.prompt, n.completion)}
			c.HasUsage = true
		}
	}
	c.Choices = append(c.Choices, n.choice)
}
