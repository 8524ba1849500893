package render

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// transcription writes a request to v1/audio/transcriptions or v1/audio/translations, which package openai turns into
// a form:
//
//	{"model": M, "file": {"url": "data:…", "name": "a.wav", "seconds": S}, "stream": true, "stream_include_usage": true}
//
// vLLM reads the last member. Texts of the prompt are not sent: beside a clip they say what it holds.
func (b *object) transcription(p *workload.Prompt, o Options) error {
	b.model(o)
	if p.Messages != nil || len(p.Media) != 1 || p.Media[0].Kind != workload.Audio {
		return errors.New("the endpoint takes one audio clip a request; give \"audio\", a folder of audio files, or --audio-length-mean")
	}
	m := p.Media[0]
	var file object
	file.text("url", m.URL)
	if m.Name != "" {
		file.text("name", m.Name)
	}
	if m.Seconds > 0 {
		file.raw("seconds", strconv.AppendFloat(nil, m.Seconds, 'f', -1, 64))
	}
	b.raw("file", file.close())
	if o.Stream {
		b.flag("stream")
		if o.Usage {
			b.flag("stream_include_usage")
		}
	}
	return nil
}

// speech writes a request to v1/audio/speech:
//
//	{"model": M, "input": "…", "voice": "alloy", "response_format": "wav", "stream_format": "sse"}
//
// The audio is uncompressed unless the row or the extra body says otherwise, because only then its bytes tell how long it
// plays.
func (b *object) speech(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "speech endpoints"); err != nil {
		return err
	}
	b.model(o)
	all, err := plainTexts(p)
	if err != nil {
		return err
	}
	if len(all) != 1 || all[0] == "" {
		return fmt.Errorf("the endpoint speaks one text a request, found %d", len(p.More)+1)
	}
	b.text("input", all[0])
	for _, m := range [...]struct{ name, value string }{{"voice", "alloy"}, {"response_format", "wav"}} {
		if _, given := p.Extra.Get(m.name); !given {
			b.text(m.name, m.value)
		}
	}
	if o.Stream {
		b.text("stream_format", "sse")
	}
	return nil
}
