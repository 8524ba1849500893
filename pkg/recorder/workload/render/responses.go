package render

import "github.com/pa-tools/pa/pkg/recorder/workload"

// responses writes a request to v1/responses:
//
//	{"model": M, "instructions": "…", "input": "…", "stream": true, "max_output_tokens": N}
//
// Its streams always end with token counts.
func (b *object) responses(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "responses"); err != nil {
		return err
	}
	b.model(o)
	if p.Messages != nil {
		b.raw("input", p.Messages)
	} else {
		if p.System != "" {
			b.text("instructions", p.System)
		}
		all, err := plainTexts(&workload.Prompt{Text: p.Text, More: p.More})
		if err != nil {
			return err
		}
		text := all[0]
		for _, more := range all[1:] {
			text += " " + more
		}
		b.text("input", text)
	}
	if o.Stream {
		b.flag("stream")
	}
	if p.MaxTokens > 0 {
		b.number(lengthField(p, o, Responses), p.MaxTokens)
	}
	return nil
}
