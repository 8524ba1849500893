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
	b.texts("text_input", all, false)
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
//	{"model": M, "inputs": "…", "stream": true, "parameters": {"max_new_tokens": N, "min_new_tokens": N}}
//
// Images come before the text, as Markdown.
func (b *object) tgi(p *workload.Prompt, o Options) error {
	b.model(o)
	text, err := markdownOf(p)
	if err != nil {
		return err
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

// markdownOf returns the images of p as Markdown, followed by its texts.
func markdownOf(p *workload.Prompt) (string, error) {
	texts, err := plainTexts(p)
	if err != nil {
		return "", err
	}
	urls, err := pictureURLs(p, "Hugging Face's generate endpoints")
	if err != nil {
		return "", err
	}
	var all []string
	for _, url := range urls {
		all = append(all, "![]("+url+")")
	}
	return strings.Join(append(all, texts...), " "), nil
}
