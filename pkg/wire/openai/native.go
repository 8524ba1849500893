package openai

import (
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

	kind   []byte // "type"
	delta  []byte
	ended  bool
	nested []byte // "status" of "response"

	responses responsesEvent
	lines     ollamaLine
	gemini    geminiBody

	prompt, completion int64 // llama.cpp's counts

	text     []byte // "text", of SGLang or a transcription
	request  []byte // "request_id", vLLM's
	task     bool   // "task", of a whole one
	audio    AudioPiece
	hasAudio bool

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
	case "text":
		n.text = w.String()
	case "request_id":
		n.request = w.String()
	case "meta_info":
		n.metaInfo(w, c)
	case "tokens", "output_ids":
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
	case "task":
		n.task = true
		w.Skip()
	case "audio":
		n.audioPiece(w)
	case "response":
		n.response(w, c)
	case "output":
		n.output(w, c)
	case "status":
		n.status(w.String())
	default:
		if !n.responses.member(w) && !n.lines.member(w) && !n.gemini.member(w, c) {
			w.Skip()
		}
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

// response reads the state of the answer in some events of v1/responses, whose output came
// earlier in deltas, or the text of a line of Ollama's /api/generate.
func (n *native) response(w *jsonscan.Walker, c *Chunk) {
	if w.Peek() == '"' {
		n.lines.generated, n.lines.hasText = w.String(), true
		return
	}
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
		case "metrics":
			c.addServer(w, readMetrics)
		case "output":
			n.responses.output = w.Value()
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

// end adds the choice, unless the body has choices.
func (n *native) end(c *Chunk) {
	if len(c.ID) == 0 && (len(c.Choices) > 0 || c.HasUsage) {
		c.ID = n.request
	}
	if len(n.kind) > 0 && len(c.Choices) == 0 && n.messages(c) {
		return
	}
	if len(c.Choices) > 0 {
		return
	}
	switch kind := string(n.kind); kind {
	case "":
		if n.gemini.end(c) || n.ollamaEnd(c) {
			return
		}
		if n.text != nil && (n.task || c.HasUsage) && !n.present {
			n.present, n.ended, n.choice.Content = true, true, n.text
		}
	case "image_generation.completed", RealtimeDone, RealtimeCompleted:
		n.present, n.ended = true, true
	case "transcript.text.segment", "transcript.text.done":
		n.present, n.choice.Content, c.Repeats = true, n.text, RepeatsDeltas
		if n.ended = kind == "transcript.text.done"; n.ended {
			c.Repeats = RepeatsAll
		}
	case "pa.audio", "speech.audio.delta":
		c.Audio, c.HasAudio, c.RawAudio = n.audio, n.hasAudio, kind == "pa.audio"
		return
	case "speech.audio.done":
		c.Done = true
		return
	default:
		if !n.responsesEnd(c) {
			return
		}
	}
	if !n.present {
		return
	}
	if n.choice.soFar {
		n.choice.Index, n.choice.Content = int(n.index), n.text
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
