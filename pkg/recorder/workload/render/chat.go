package render

import (
	"errors"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// chat writes a request to v1/chat/completions:
//
//	{"model": M, "messages": […], "stream": true, "stream_options": {…}, "max_tokens": N,
//	 "min_tokens": N, "ignore_eos": true}
//
// The last two request an exact length from vLLM, SGLang and TensorRT-LLM.
func (b *object) chat(p *workload.Prompt, o Options) error {
	b.model(o)
	if p.Messages != nil {
		b.raw("messages", p.Messages)
	} else {
		messages, err := messagesOf(p)
		if err != nil {
			return err
		}
		b.raw("messages", messages)
	}
	b.stream(o)
	b.length(lengthField(p, o, Chat), p)
	return nil
}

// messagesOf returns a conversation of the system instructions and a user message.
func messagesOf(p *workload.Prompt) ([]byte, error) {
	if p.Text == "" && p.IDs != nil {
		return nil, errors.New("a chat cannot hold token ids; use the completions endpoint")
	}
	out := []byte{'['}
	if p.System != "" {
		out = append(append(append(out, `{"role":"system","content":`...), quote(p.System)...), '}', ',')
	}
	out = append(out, `{"role":"user","content":`...)
	if len(p.More) == 0 && len(p.Media) == 0 {
		out = append(out, quote(p.Text)...)
		return append(out, '}', ']'), nil
	}
	out = append(out, '[')
	for _, t := range append([]string{p.Text}, p.More...) {
		if t != "" || len(p.Media) == 0 {
			out = appendPart(out, []byte(`{"type":"text","text":`), quote(t), []byte("}"))
		}
	}
	for _, m := range p.Media {
		js, err := mediaPart(m)
		if err != nil {
			return nil, err
		}
		out = appendPart(out, js)
	}
	return append(out, ']', '}', ']'), nil
}

// appendPart appends an element, given in pieces, to an unfinished array.
func appendPart(out []byte, js ...[]byte) []byte {
	if out[len(out)-1] != '[' {
		out = append(out, ',')
	}
	for _, piece := range js {
		out = append(out, piece...)
	}
	return out
}

// mediaPart returns a part of a message: an image by its URL, and audio by its content. Audio
// without content is referenced by its URL, as vLLM accepts it.
func mediaPart(m workload.Medium) ([]byte, error) {
	url := func(kind string) []byte {
		return []byte(`{"type":"` + kind + `","` + kind + `":{"url":` + string(quote(m.URL)) + `}}`)
	}
	if m.Kind != workload.Audio {
		return url("image_url"), nil
	}
	rest, inline := strings.CutPrefix(m.URL, "data:")
	if !inline {
		return url("audio_url"), nil
	}
	typ, content, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return nil, errors.New("an audio clip in a data: URL must be in base64")
	}
	format := strings.TrimPrefix(strings.TrimPrefix(typ, "audio/"), "x-")
	if format == "mpeg" {
		format = "mp3"
	}
	return []byte(`{"type":"input_audio","input_audio":{"data":` + string(quote(content)) + `,"format":` + string(quote(format)) + `}}`), nil
}
