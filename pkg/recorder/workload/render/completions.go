package render

import "github.com/pa-tools/pa/pkg/recorder/workload"

// completions writes a request to v1/completions:
//
//	{"model": M, "prompt": "…", "stream": true, "stream_options": {…}, "max_tokens": N, …}
func (b *object) completions(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "completions"); err != nil {
		return err
	}
	b.model(o)
	if holdsIDs(p, o) {
		if err := b.ids("prompt", p, o); err != nil {
			return err
		}
	} else {
		all, err := plainTexts(p)
		if err != nil {
			return err
		}
		b.texts("prompt", all, false)
	}
	b.stream(o)
	b.length(lengthField(p, o, Completions), p)
	return nil
}
