package answer

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// httpOutput is the name of the only output of a request over plain HTTP: the pieces of
// the body as they arrived.
const httpOutput = "response"

// An httpDecoder finds token events in the bodies of OpenAI-compatible servers
// and of others that stream JSON objects as server-sent events.
//
// perf_analyzer writes one response per read, which holds several events or a piece of
// one. All responses of a request therefore go through one splitter, and an event has
// the time of the response that completed it.
type httpDecoder struct {
	split  sse.Splitter
	chunk  openai.Chunk
	stream openai.Stream
	body   []byte
	known  bool // an event of the OpenAI shape was found
	// counted says that usage stood in the chunks of all events so far.
	counted bool
	// messages says that some event was of Anthropic Messages.
	messages bool
	// ids is the number of token ids of all events; below 0 if an event has none.
	ids     int64
	carried carriedTokens

	envelopes envelopes
}

// isHTTP reports whether the outputs of r are body text rather than tensors. Exports
// before 24.05 do not name their service, and a Triton model may have an output named
// "response" too, so the text must look like JSON or server-sent events.
func (d *Decoder) isHTTP(r *export.Request) bool {
	for i := range r.Responses {
		out := r.Responses[i].Outputs
		if len(out) > 1 || len(out) == 1 && (out[0].Name != httpOutput || !out[0].Value.Text) {
			return false
		}
	}
	if d.ServiceKind == "openai" {
		return true
	}
	form, head := bodyForm(r)
	if d.ServiceKind == "triton" { // generate_stream; a model may write JSON
		return bytes.HasPrefix(head, []byte("data:"))
	}
	return form != openai.FormOther
}

// bodyForm returns the form of the body of an answer, and the beginning of the body without white space
// before it. The first piece can be a single byte.
func bodyForm(r *export.Request) (form openai.Form, head []byte) {
	for i := range r.Responses {
		piece := bodyOf(&r.Responses[i])
		if len(head) > 0 {
			piece = append(head[:len(head):len(head)], piece...)
		}
		head = openai.TrimFront(piece)
		if form, undecided := openai.FormOf(head); !undecided {
			return form, head
		}
	}
	return openai.FormOther, head
}

func (h *httpDecoder) decode(d *Decoder, r *export.Request) {
	h.split.Reset()
	h.stream.Reset()
	h.known, h.counted, h.messages, h.ids, h.carried = false, true, false, 0, carriedTokens{}
	h.envelopes.reset()
	d.tensor.reset()
	switch form, head := bodyForm(r); form {
	case openai.FormJSON:
		h.json(d, r)
	case openai.FormEvents:
		d.a.shape = StreamedYes
		h.events(d, r)
	case openai.FormOther:
		if d.Audio == openai.Transcribes && !openai.IsPage(head) { // response_format text, srt or vtt
			h.text(d, r)
			break
		}
		h.events(d, r)
	}
	if err := h.stream.Err; err != nil {
		d.a.Failure = err.Error()
	}
	if !h.known && len(d.tensor.pieces) > 0 {
		d.tensor.decode(d)
	}
	h.usage(&d.a)
	if h.ids > 0 {
		d.a.ids = export.IntOf(h.ids)
	}
	d.a.EventTokens = h.counted && d.a.shape == StreamedYes && len(d.a.Events) > 0 &&
		eventTokens(d.a.Events[1:]) <= export.MostEventTokens(len(d.a.Events))
	h.carried.set(&d.a)
}

// json decodes an answer that is one JSON body or several JSON objects in lines of their own.
func (h *httpDecoder) json(d *Decoder, r *export.Request) {
	h.body = h.body[:0]
	at := 0
	for i := range r.Responses {
		if b := bodyOf(&r.Responses[i]); len(b) > 0 {
			h.body = append(h.body, b...)
			at = i
		}
	}
	if _, lines := openai.IsJSONLines(h.body); lines {
		d.a.shape = StreamedYes
		h.lines(d, r)
		return
	}
	d.a.shape = StreamedNo
	h.whole(d, at)
}

// lines decodes an answer of JSON objects in lines, which h.body holds. Each line is an event of the
// response that completed it.
func (h *httpDecoder) lines(d *Decoder, r *export.Request) {
	begin, end, last := 0, 0, 0
	for i := range r.Responses {
		b := bodyOf(&r.Responses[i])
		if len(b) == 0 {
			continue
		}
		from := end
		end, last = end+len(b), i
		for {
			n := bytes.IndexByte(h.body[from:end], '\n') + 1
			if n == 0 {
				break
			}
			h.line(d, i, h.body[begin:from+n])
			begin, from = from+n, from+n
		}
	}
	h.line(d, last, h.body[begin:end])
}

// text decodes an answer that is a text, with all white space.
func (h *httpDecoder) text(d *Decoder, r *export.Request) {
	d.a.shape, h.known = StreamedNo, true
	h.body = h.body[:0]
	at := 0
	for i := range r.Responses {
		if b := bodyOf(&r.Responses[i]); len(b) > 0 {
			h.body, at = append(h.body, b...), i
		}
	}
	if len(h.body) > 0 {
		d.add(at, 0, false, h.body)
	}
}

// line decodes a line that response at completed.
func (h *httpDecoder) line(d *Decoder, at int, line []byte) {
	if line = openai.TrimFront(line); len(line) > 0 {
		h.frame(d, at, line)
	}
}

// whole decodes an answer that was not streamed, the body in h.body. It is one event, of the
// response at that completed the body.
func (h *httpDecoder) whole(d *Decoder, at int) {
	text := openai.TrimFront(h.body)
	if text[0] == '[' {
		if !jsontext.Value(bytes.TrimSpace(text)).IsValid() {
			d.a.Unreadable++
			return
		}
		d.add(at, 0, false, nil) // Hugging Face: [{"generated_text":…}]
		return
	}
	h.take(d, at, text, openai.Parse(text, &h.chunk))
	if h.chunk.IsPart() { // the only line of a stream
		d.a.shape = StreamedYes
	}
}

func (h *httpDecoder) events(d *Decoder, r *export.Request) {
	at := 0
	for i := range r.Responses {
		if outputs := r.Responses[i].Outputs; len(outputs) == 1 && h.split.AtStart() {
			if f := h.envelopes.frame(&outputs[0].Value); f != nil {
				h.add(d, i, f, outputs[0].Value.Data)
				at = i
				continue
			}
		}
		b := bodyOf(&r.Responses[i])
		if len(b) == 0 {
			continue
		}
		at = i
		h.split.Feed(b)
		for h.split.Next() {
			h.frame(d, at, h.split.Frame())
		}
	}
	// A stream may end without the blank line that ends its last event.
	if rest := h.split.Rest(); len(openai.TrimFront(rest)) > 0 {
		h.frame(d, at, rest)
	}
}

func (h *httpDecoder) frame(d *Decoder, at int, frame []byte) {
	h.take(d, at, frame, openai.ParseFrame(frame, &h.chunk))
}

// take adds the token events of h.chunk, which was just parsed from a frame or a body.
func (h *httpDecoder) take(d *Decoder, at int, frame []byte, err error) {
	c := &h.chunk
	if err != nil {
		d.a.Unreadable++
		return
	}
	if c.Comment && c.Error == nil || c.Null {
		return
	}
	h.stream.Add(c)
	h.messages = h.messages || c.Messages != openai.NotMessages
	if d.images {
		h.known = true
		d.addImages(at, frame)
		return
	}
	if c.HasAudio {
		h.known = true
		d.a.addAudio(d.responses[at].RecvNS, &c.Audio)
		return
	}
	if len(c.Choices) == 0 && c.Messages == openai.NotMessages && !c.HasUsage && !c.Done && c.Error == nil && len(c.Object) == 0 {
		data := frame
		if e := sse.Parse(frame); e.HasData {
			data = e.Data
		}
		if f, ok := flatFields(data); ok {
			d.tensor.add(at, f, false)
		}
		return
	}
	h.known = true
	first := len(d.a.Events)
	for i := range c.Choices {
		ch := &c.Choices[i]
		if !ch.HasOutput() {
			continue
		}
		if h.ids >= 0 && ch.TokenIDs > 0 {
			h.ids += int64(ch.TokenIDs)
		} else {
			h.ids = -1
		}
		reasoning := len(ch.Reasoning) > 0 && len(ch.Content) == 0 && len(ch.Refusal) == 0 && len(ch.ToolCalls) == 0
		h.carried.addChoice(len(d.a.Events) == 0 || len(d.a.Events) == 1 && first == 0, reasoning, ch)
		if last := d.choice(ch.Index).last; last < first {
			d.add(at, ch.Index, reasoning, nil)
			d.a.Events[len(d.a.Events)-1].BlockStart = c.Messages == openai.BlockStart
		} else { // the same choice twice in one chunk is one event
			d.a.Events[last].Reasoning = d.a.Events[last].Reasoning && reasoning
		}
		if d.KeepText {
			s := d.choice(ch.Index)
			s.text = append(append(append(append(s.text, ch.Reasoning...), ch.Content...), ch.Refusal...), ch.ToolCalls...)
		}
	}
	if c.HasUsage && len(d.a.Events) == 0 {
		h.carried.before = max(h.carried.before, c.Usage.CompletionTokens)
	}
	if h.counted && len(d.a.Events) > first {
		h.countEvents(d, first, len(frame))
	}
}

// mostHidden bounds the tokens before the first event of a choice.
const mostHidden = 1 << 24

// countEvents sets the Tokens of the events from first on, which h.chunk added. The usage of a chunk is
// the number of tokens of its choice so far (vLLM and SGLang, with continuous_usage_stats). A chunk of n
// bytes cannot hold more than n tokens: a greater number is no such count. The first event of a choice also
// counts the tokens that were hidden or held back before it. Without usage the token ids of the chunk count.
func (h *httpDecoder) countEvents(d *Decoder, first, n int) {
	c := &h.chunk
	if h.counted = len(d.a.Events) == first+1 && (c.HasUsage || h.ids > 0); !h.counted {
		return
	}
	e := &d.a.Events[first]
	s := d.choice(e.Choice)
	if !c.HasUsage {
		e.Tokens = int32(min(chunkIDs(c), math.MaxInt32))
		s.usage += int64(e.Tokens)
		return
	}
	tokens, most := c.Usage.CompletionTokens-s.usage, int64(n)
	if e.Prev < 0 {
		most = mostHidden
	}
	if c.Usage.CompletionTokens <= 0 || tokens < 0 || tokens > most {
		h.counted = false
		return
	}
	e.Tokens, s.usage = int32(tokens), c.Usage.CompletionTokens
}

// chunkIDs returns the number of token ids in a chunk.
func chunkIDs(c *openai.Chunk) (n int) {
	for i := range c.Choices {
		n += c.Choices[i].TokenIDs
	}
	return n
}

// usage stores the server's token counts, even if they cannot be true. A count of 0 completion tokens beside output
// means that the server does not know the number.
func (h *httpDecoder) usage(a *Answer) {
	a.Server = h.stream.Server
	if !h.stream.HasUsage {
		return
	}
	u := &h.stream.Usage
	a.Written.Input, a.Written.Output = export.IntOf(u.PromptTokens), export.IntOf(u.CompletionTokens)
	if u.TotalTokens != 0 && !h.messages {
		a.WrittenTotal = export.IntOf(u.TotalTokens)
	}
	if h.stream.HasReasoning {
		a.Written.Reasoning = export.IntOf(u.ReasoningTokens)
	}
	if h.stream.HasCached {
		a.Written.Cached = export.IntOf(u.CachedTokens)
	}
	if u.CompletionTokens != 0 || len(a.Events) == 0 {
		a.Usage.Output = a.Written.Output
		a.Usage.Reasoning = a.Written.Reasoning
	}
	if u.PromptTokens != 0 {
		a.Usage.Input, a.Usage.Cached = a.Written.Input, a.Written.Cached
	}
}

// flatText are the members that hold the new text in streams that are not of
// the OpenAI shape: Triton's generate_stream, llama.cpp's /completion, and
// Ollama's /api/generate, in this order.
var flatText = [...]string{"text_output", "content", "response"}

// flatFields reads a JSON object as named outputs. Where a member is known to
// be the text, it and the counts beside it are all that is returned; TGI's
// /generate_stream has it in token.text. ok is false for anything but an
// object.
func flatFields(data []byte) (f export.Fields, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		if dec.PeekKind() == '"' {
			t, err := dec.ReadToken()
			if err != nil {
				return nil, false
			}
			f = append(f, export.Field{Name: key, Value: export.Text(t.String())})
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		f = append(f, export.Field{Name: key, Value: export.JSON(string(v))})
	}
	if tok, ok := f.Get("token"); ok && !tok.Text {
		if inner, ok := flatFields(tok.Data); ok {
			if text, ok := inner.Get("text"); ok && text.Text {
				return export.Fields{{Name: "text", Value: text}}, true
			}
		}
	}
	for _, name := range flatText {
		if v, ok := f.Get(name); ok && v.Text {
			only := export.Fields{{Name: name, Value: v}}
			for i := range f {
				if isSideOutput(f[i].Name) {
					only = append(only, f[i])
				}
			}
			return only, true
		}
	}
	return f, true
}

// bodyOf returns the piece of the body that a response holds.
func bodyOf(p *export.Response) []byte {
	v, _ := p.Outputs.Get(httpOutput)
	if !v.Text {
		return nil
	}
	return v.Bytes()
}
