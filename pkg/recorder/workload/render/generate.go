package render

import (
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// generate writes a request to Triton's generate endpoints:
//
//	{"text_input": "…", "stream": true, "max_tokens": N, "min_tokens": N}
func (b *object) generate(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "Triton's generate endpoints"); err != nil {
		return err
	}
	all, err := plainTexts(p)
	if err != nil {
		return err
	}
	b.texts("text_input", all, o.TextLists)
	if o.Stream {
		b.flag("stream")
	}
	if p.MaxTokens > 0 {
		b.number("max_tokens", p.MaxTokens)
		if p.Exact {
			b.number("min_tokens", p.MaxTokens)
		}
	}
	return nil
}

// tgi writes a request to the generate endpoints of Hugging Face's Text
// Generation Inference:
//
//	{"model": M, "inputs": "…", "parameters": {"max_new_tokens": N}, "stream": true}
//
// Pictures stand before the text, as Markdown.
func (b *object) tgi(p *workload.Prompt, o Options) error {
	b.model(o)
	all, err := plainTexts(p)
	if err != nil {
		return err
	}
	text := strings.Join(all, " ")
	for _, m := range p.Media {
		if m.Kind != workload.Image {
			return noMedia(&workload.Prompt{Media: []workload.Medium{m}}, "Hugging Face's generate endpoints")
		}
		text = "![](" + m.URL + ") " + text
	}
	b.text("inputs", text)
	if o.Stream {
		b.flag("stream")
	}
	if p.MaxTokens > 0 {
		var params object
		params.number("max_new_tokens", p.MaxTokens)
		if p.Exact {
			params.number("min_new_tokens", p.MaxTokens)
		}
		b.raw("parameters", params.close())
	}
	return nil
}
