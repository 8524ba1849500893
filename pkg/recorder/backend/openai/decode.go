package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// Decode gives each response its one output, "response": the bytes as they came, with
// stars for secrets of the configuration, and without the bytes of images unless Config.KeepMedia is set. It marks the
// last response and the responses that hold an error. A request without an error so far becomes
//
//	rpc_error         when the server reported an error in a 200 answer
//	context_overflow  when that error is about a request longer than the context of the model
//	protocol_error    when the answer violates the protocol
//	truncated         when a stream ended within an event, or with neither [DONE]
//	                  nor a finish reason for every choice, or one of Anthropic Messages without
//	                  message_stop, or one of images before the last of the images that were asked for
//
// An answer without any output is ok. The error is always nil.
func (b *Backend) Decode(x *backend.Exchange) error {
	r := &x.Request
	d := decoder{r: r, tokens: &x.Tokens, last: -1, api: b.target.api, images: b.target.api == render.Images, text: b.target.api == render.Transcription}
	if p, ok := x.Sent.(*payload); ok {
		d.wanted = p.images
	}
	outputs := x.Fields(len(x.Raw))
	for i, raw := range x.Raw {
		b.secrets.Mask(raw)
		outputs[i] = export.Field{Name: "response", Value: export.Value{Text: true, Data: raw}}
		r.Responses[i].Outputs = outputs[i : i+1 : i+1]
		if !refused(r.Status) {
			d.response(i, raw, len(x.Raw) == 1)
		}
		if d.images && !b.cfg.KeepMedia {
			outputs[i].Value.Data = openai.AppendWithoutImages(nil, raw)
		}
	}
	x.Tokens.Several, x.Tokens.Whole = d.st.Choices() > 1, d.whole
	x.Tokens.ServerTimes = d.st.Server.Queue.OK || d.st.Server.Prefill.OK || d.st.Server.TTFT.OK
	if n := len(r.Responses); n > 0 && d.last < 0 && (d.complete() || d.whole) {
		d.last = n - 1
	}
	if d.last >= 0 {
		r.Responses[d.last].Final = true
	}
	if r.ServerID == "" {
		r.ServerID = openai.OneLine([]byte(b.secrets.Text(d.id))) // escapes may have hidden a secret
	}
	if r.Status == export.StatusOK {
		d.status()
		r.Message = b.secrets.Text(r.Message) // decoding may have revealed a secret
	}
	return nil
}

// A decoder decodes the responses of one request.
type decoder struct {
	r      *export.Request
	tokens *backend.Tokens
	chunk  openai.Chunk
	st     openai.Stream
	last   int // index of the response with [DONE]; -1 is none
	api    render.API
	whole  bool
	images bool // the endpoint makes images
	// finished counts the images of a stream that are finished, and wanted is how many the request asks for.
	finished, wanted int64
	id               string
	err              error // error of the first frame that is no chunk
	cut              bool  // the stream ended within an event
	text             bool  // a body that is neither JSON nor events is a text: a transcription
}

// response decodes response i. The only response may be a whole body: JSON, or a stream
// without the content type of a stream.
func (d *decoder) response(i int, raw []byte, only bool) {
	if !only {
		d.frame(i, raw)
		return
	}
	if body := bytes.TrimSpace(raw); len(body) == 0 || body[0] == '{' || body[0] == '[' {
		d.whole = true
		if len(body) > 0 && body[0] == '[' && json.Valid(body) {
			return // embeddings of some servers
		}
		d.frame(i, raw)
		d.whole = !d.chunk.IsPart()
		return
	}
	if form, _ := openai.FormOf(raw); d.text && form == openai.FormOther && !openai.IsPage(raw) {
		d.whole = true
		d.tokens.Add(i)
		return
	}
	split := sse.Splitter{MaxFrameBytes: len(raw) + 1}
	for split.Feed(raw); split.Next(); {
		d.frame(i, split.Frame())
	}
	if rest := split.Rest(); len(bytes.TrimSpace(rest)) > 0 {
		d.frame(i, rest)
	}
}

func (d *decoder) frame(i int, frame []byte) {
	c := &d.chunk
	if err := openai.ParseFrame(frame, c); err != nil {
		switch {
		case d.whole || endsInBlankLine(frame) || isWholeLine(frame) || frame[0] == '<': // HTML; no line of an event begins with <
			if d.err == nil {
				d.err = err
			}
		default: // only the last frame of a stream has no end
			d.cut = true
		}
		return
	}
	d.st.Add(c)
	if d.images {
		d.finished += int64(openai.ReadImages(frame).Finished)
	}
	if c.HasOutput() {
		d.tokens.Add(i)
	}
	if c.Error != nil {
		d.r.Responses[i].Error = true
	}
	if c.Done && d.last < 0 {
		d.last = i
	}
	if d.id == "" {
		d.id = string(c.ID)
	}
}

// isWholeLine reports whether a frame is a complete line of a stream of JSON lines.
func isWholeLine(frame []byte) bool {
	return (frame[0] == '{' || frame[0] == '[') && bytes.HasSuffix(frame, []byte("\n"))
}

// endsInBlankLine reports whether a frame of package sse is complete.
func endsInBlankLine(frame []byte) bool {
	for _, end := range [...]string{"\n\n", "\n\r\n", "\r\r", "\n\r"} {
		if bytes.HasSuffix(frame, []byte(end)) {
			return true
		}
	}
	return false
}

// complete reports whether a stream has come to its end: [DONE], or an end of everything that was asked for.
func (d *decoder) complete() bool {
	return d.st.Complete() && (!d.images || d.last >= 0 || d.finished >= d.wanted)
}

// status sets the status of a request whose body is complete.
func (d *decoder) status() {
	r := d.r
	switch {
	case d.st.Err != nil:
		r.Status, r.Message = export.StatusRPCError, d.st.Err.Error()
		if d.st.Err.ContextOverflow() {
			r.Status = export.StatusContextOverflow
		}
		if code, err := strconv.Atoi(d.st.Err.Code); err == nil {
			r.Code = code
		}
	case d.err != nil:
		r.Status, r.Message = export.StatusProtocolError, "the answer is not what the protocol says: "+d.err.Error()
	case d.cut:
		r.Status, r.Message = export.StatusTruncated, "the stream ended within an event"
	case d.whole:
		if len(bytes.TrimSpace(d.r.Responses[0].Outputs[0].Value.Data)) == 0 {
			r.Status, r.Message = export.StatusProtocolError, "the answer is empty"
		}
	case len(r.Responses) == 0:
		r.Status, r.Message = export.StatusTruncated, "the stream ended before its first event"
	case !d.st.Complete() && d.st.Speech():
		r.Status, r.Message = export.StatusTruncated, "the stream ended without speech.audio.done"
	case !d.st.Complete() && d.st.Messages():
		r.Status, r.Message = export.StatusTruncated, "the stream ended without message_stop"
	case !d.complete() && d.images && d.finished > 0:
		r.Status, r.Message = export.StatusTruncated, fmt.Sprintf("the stream ended after %d of %d images", d.finished, d.wanted)
	case !d.complete() && d.images:
		r.Status, r.Message = export.StatusTruncated, "the stream ended without image_generation.completed"
	case !d.st.Complete():
		r.Status, r.Message = export.StatusTruncated, "the stream ended "+missingEnd(d.api)
	}
}

// missingEnd names the mark of the end that a truncated stream lacks.
func missingEnd(api render.API) string {
	switch api {
	case render.OllamaChat, render.OllamaGenerate:
		return `without "done": true`
	case render.Gemini:
		return "without a finishReason for every candidate"
	case render.Responses:
		return "without response.completed"
	default:
		return "with neither [DONE] nor a finish reason for every choice"
	}
}
