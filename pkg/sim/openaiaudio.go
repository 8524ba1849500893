package sim

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/audio"
)

// This file serves OpenAI's audio API: transcriptions and translations of clips, and speech.

// clipTokensPerSecond is the number of input tokens of a second of a clip.
const clipTokensPerSecond = 10

// A transcriptionRequest holds the fields of the form of a transcription or translation.
type transcriptionRequest struct {
	requestFields
	Model          string `json:"model"`
	ResponseFormat string `json:"response_format"`
	Stream         bool   `json:"stream"`
	IncludeUsage   bool   `json:"stream_include_usage"` // as vLLM has it
	// Shape is "openai" or "" for events, "segments" for events of segments besides, "vllm" for chunks like a chat's.
	Shape string `json:"sim_shape"`
	// Unknown puts an event that no client knows before each event with text.
	Unknown bool `json:"sim_unknown_events"`
}

// maxFormFields bounds the fields of a form.
const maxFormFields = 1000

// parseForm reads a form. clip is the content of its field "file".
func parseForm(contentType string, body []byte) (q transcriptionRequest, clip []byte, err error) {
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" {
		return q, nil, errors.New("expected multipart/form-data")
	}
	fields := map[string]json.RawMessage{}
	form := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	found := false
	for range maxFormFields {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return q, nil, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return q, nil, err
		}
		switch name := part.FormName(); {
		case name == "file":
			clip, found = content, true
		case slices.Contains([]string{"stream", "stream_include_usage", "sim_unknown_events", "ignore_eos", "echo"}, name) && json.Valid(content):
			fields[name] = content
		default:
			fields[name] = appendString(nil, string(content))
		}
	}
	if !found {
		return q, nil, errors.New("file: field required")
	}
	all, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(all, &q)
	}
	if err == nil && !slices.Contains([]string{"", "openai", "segments", "vllm"}, q.Shape) {
		err = fmt.Errorf("sim_shape is %q; expected openai, segments or vllm", q.Shape)
	}
	return q, clip, err
}

// serveTranscription answers v1/audio/transcriptions and v1/audio/translations.
func serveTranscription(x *exchange) {
	s := x.s
	q, clip, err := parseForm(x.r.Header.Get("Content-Type"), x.body)
	if err != nil {
		x.fail(http.StatusBadRequest, "the body is not a valid request: "+err.Error())
		return
	}
	id, ok := x.resolveModel(&q.Model, "trsc")
	if !ok {
		return
	}
	ns, _ := audio.DurationNS(clip)
	seconds := float64(ns) / 1e9
	tokens := int(min(math.Ceil(seconds*clipTokensPerSecond), plan.MaxContextTokens))
	a, err := s.planRequest(x.index, &q.requestFields, []int{max(1, tokens)}, []string{""}, 1)
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := transcriptRenderer{id: id, model: q.Model, created: x.rec.Start.Unix(), newline: newline(p.Fault), usage: !s.config.OmitUsage, shape: q.Shape, include: q.IncludeUsage, unknown: q.Unknown}
	if q.Stream {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), Failure: func() []byte {
			return t.event(openAIErrorBody(http.StatusInternalServerError, errorEventMessage))
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	texts, end := p.Whole()
	x.answerWhole(p, t.body(p, q.ResponseFormat, texts[0], seconds), end)
}

// A transcriptRenderer renders transcriptions.
type transcriptRenderer struct {
	id, model      string
	created        int64 // Unix seconds
	newline, shape string
	usage          bool
	include        bool // in vLLM's shape the usage comes only then
	unknown        bool
}

// event returns an SSE event.
func (t *transcriptRenderer) event(data []byte) []byte { return frame(data, t.newline) }

// appendUsage appends the member "usage".
func (t *transcriptRenderer) appendUsage(b []byte, p *plan.Plan) []byte {
	if !t.usage {
		return b
	}
	return fmt.Appendf(b, `,"usage":{"type":"tokens","input_tokens":%d,"input_token_details":{"text_tokens":0,"audio_tokens":%d},"output_tokens":%d,"total_tokens":%d}`,
		p.InputTokens, p.InputTokens, p.OutputTokens(), p.InputTokens+p.OutputTokens())
}

// body returns a whole answer.
func (t *transcriptRenderer) body(p *plan.Plan, format, text string, seconds float64) []byte {
	switch format {
	case "text":
		return append([]byte(text), '\n')
	case "verbose_json":
		b := strconv.AppendFloat([]byte(`{"task":"transcribe","language":"english","duration":`), seconds, 'f', -1, 64)
		b = appendString(append(b, `,"text":`...), text)
		return append(t.appendUsage(append(b, `,"segments":[]`...), p), '}')
	}
	return append(t.appendUsage(appendString([]byte(`{"text":`), text), p), '}')
}

// chunk returns an event of vLLM's shape; choices is the JSON of its choices.
func (t *transcriptRenderer) chunk(choices, more string) []byte {
	b := appendString([]byte(`{"id":`), t.id)
	b = fmt.Appendf(b, `,"object":"transcription.chunk","created":%d,"model":`, t.created)
	return t.event(append(appendString(b, t.model), `,"choices":[`+choices+`]`+more+`}`...))
}

// events returns the stream.
func (t *transcriptRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		var text strings.Builder
		var at time.Duration
		more := true
		send := func(data []byte, tokens int, kind plan.EventKind) {
			more = more && yield(plan.Event{At: at, Data: data, Tokens: tokens, Kind: kind})
		}
		n := 0
		for s := range p.Steps() {
			at = s.At
			if t.unknown {
				send(t.event([]byte(`{"type":"sim.unknown","text":"not known"}`)), 0, plan.EventOutput)
			}
			quoted := string(appendString(nil, s.Text))
			if t.shape == "vllm" {
				finish := ""
				if s.Finish != "" {
					finish = `,"finish_reason":"` + s.Finish + `"`
				}
				send(t.chunk(`{"index":0,"delta":{"content":`+quoted+`}`+finish+`}`, ""), s.Tokens, plan.EventOutput)
			} else {
				send(t.event([]byte(`{"type":"transcript.text.delta","delta":`+quoted+`}`)), s.Tokens, plan.EventOutput)
			}
			if t.shape == "segments" {
				send(t.event(fmt.Appendf(nil, `{"type":"transcript.text.segment","id":"seg_%d","start":%d,"end":%d,"text":%s,"speaker":"A"}`, n, n, n+1, quoted)), 0, plan.EventOutput)
			}
			n++
			text.WriteString(s.Text)
			if !more {
				return
			}
		}
		if t.shape == "vllm" {
			if t.usage && t.include {
				send(t.chunk("", `,"usage":`+string(appendUsage(nil, p.InputTokens, p.OutputTokens(), -1))), 0, plan.EventUsage)
			}
			send(t.event([]byte("[DONE]")), 0, plan.EventDone)
			return
		}
		b := appendString([]byte(`{"type":"transcript.text.done","text":`), text.String())
		send(t.event(append(t.appendUsage(b, p), '}')), 0, plan.EventDone)
	}
}

// A speechRequest is the body of a request to v1/audio/speech.
type speechRequest struct {
	requestFields
	Model          string `json:"model"`
	Input          string `json:"input"`
	Voice          string `json:"voice"`
	ResponseFormat string `json:"response_format"`
	StreamFormat   string `json:"stream_format"`
	// TokenMillis is the length of the audio of a token, 100 by default.
	TokenMillis *number `json:"sim_audio_ms"`
	// Unknown puts an event that no client knows before each event with audio.
	Unknown bool `json:"sim_unknown_events"`
}

// maxTokenMillis bounds the length of the audio of a token.
const maxTokenMillis = 10_000

// serveSpeech answers v1/audio/speech.
func serveSpeech(x *exchange) {
	s := x.s
	var q speechRequest
	if !x.parse(&q) {
		return
	}
	_, ok := x.resolveModel(&q.Model, "speech")
	if !ok {
		return
	}
	millis, err := q.TokenMillis.whole("sim_audio_ms", 1, maxTokenMillis, 100)
	switch {
	case err != nil:
	case q.Input == "":
		err = errors.New("input: field required")
	case q.Voice == "":
		err = errors.New("voice: field required")
	case !slices.Contains([]string{"", "audio", "sse"}, q.StreamFormat):
		err = fmt.Errorf("stream_format is %q; expected audio or sse", clip(q.StreamFormat))
	}
	var a plan.Request
	if err == nil {
		a, err = s.planRequest(x.index, &q.requestFields, []int{s.countTokens(q.Input)}, []string{""}, 1)
	}
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := speechRenderer{format: q.ResponseFormat, millis: millis, newline: newline(p.Fault), unknown: q.Unknown, sse: q.StreamFormat == "sse", usage: !s.config.OmitUsage}
	if t.format == "" {
		t.format = "mp3"
	}
	if t.sse {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), ErrorEnds: true, Failure: func() []byte {
			return frame(openAIErrorBody(http.StatusInternalServerError, errorEventMessage), t.newline)
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	fault := p.Fault
	if fault == plan.FaultErrorEvent { // raw audio has no place for an error
		fault, p.Fault = plan.FaultReset, plan.FaultReset
	}
	x.answer(t.contentType(), -1, p, plan.Script(t.events(p), fault, p.FaultAfter, plan.Framing{Garbage: []byte("\x00\x01")}))
}

// A speechRenderer renders audio of 24 kHz: a tone for each token. WAV and PCM have 16 bits a sample. Other formats are a tenth
// of the bytes, which no player understands.
type speechRenderer struct {
	format  string
	millis  int // audio of a token
	newline string
	sse     bool
	usage   bool
	unknown bool
}

func (t *speechRenderer) contentType() string {
	switch t.format {
	case "wav", "pcm", "flac", "aac":
		return "audio/" + t.format
	case "opus":
		return "audio/ogg"
	}
	return "audio/mpeg"
}

// tone returns the audio of n tokens.
func (t *speechRenderer) tone(n int) []byte {
	samples := n * t.millis * audio.PCM24K.Rate / 1000
	if t.format != "wav" && t.format != "pcm" {
		return bytes.Repeat([]byte{0x55}, max(1, samples*audio.PCM24K.FrameBytes/10))
	}
	b := make([]byte, 0, samples*audio.PCM24K.FrameBytes)
	for i := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(8000*math.Sin(2*math.Pi*440*float64(i)/float64(audio.PCM24K.Rate)))))
	}
	return b
}

// header returns what is before the samples: for WAV, a header of unknown length, as servers that stream send it.
func (t *speechRenderer) header() []byte {
	if t.format != "wav" {
		return nil
	}
	f := audio.PCM24K
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF\xff\xff\xff\xffWAVEfmt "), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), 1)
	b = le.AppendUint32(le.AppendUint32(b, uint32(f.Rate)), uint32(f.Rate*f.FrameBytes))
	b = le.AppendUint16(le.AppendUint16(b, uint16(f.FrameBytes)), 16)
	return append(b, "data\xff\xff\xff\xff"...)
}

// events returns the audio of each step, as events or as it is.
func (t *speechRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		piece := t.header()
		var at time.Duration
		for s := range p.Steps() {
			at = s.At
			piece = append(piece, t.tone(s.Tokens)...)
			data := piece
			if t.sse {
				if t.unknown && !yield(plan.Event{At: at, Data: frame([]byte(`{"type":"sim.unknown","audio":7}`), t.newline), Kind: plan.EventOutput}) {
					return
				}
				data = frame([]byte(`{"type":"speech.audio.delta","audio":"`+base64.StdEncoding.EncodeToString(piece)+`"}`), t.newline)
			}
			if !yield(plan.Event{At: at, Data: data, Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
			piece = nil
		}
		if t.sse {
			b := []byte(`{"type":"speech.audio.done"`)
			if t.usage {
				b = fmt.Appendf(b, `,"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}`, p.InputTokens, p.OutputTokens(), p.InputTokens+p.OutputTokens())
			}
			yield(plan.Event{At: at, Data: frame(append(b, '}'), t.newline), Kind: plan.EventDone})
		}
	}
}
