package render

import (
	"encoding/json"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// completions writes a request to v1/completions:
//
//	{"model": M, "prompt": "…", "stream": true, "stream_options": {…}, "max_tokens": N, …}
func (b *object) completions(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "completions"); err != nil {
		return err
	}
	b.model(o)
	if p.Messages == nil && p.Text == "" && p.IDs != nil {
		ids, err := json.Marshal(p.IDs)
		if err != nil {
			return err
		}
		b.raw("prompt", ids)
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
