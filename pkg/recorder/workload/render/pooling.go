package render

import (
	"encoding/json"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// pooling writes a request to vLLM's pooling or classify:
//
//	{"model": M, "input": "…"}
//	{"model": M, "messages": […]}
//
// The second form is for conversations, images and audio, which the server puts into its chat template.
func (b *object) pooling(p *workload.Prompt, o Options) error {
	b.model(o)
	switch {
	case p.Messages != nil:
		b.raw("messages", p.Messages)
	case len(p.Media) > 0:
		messages, err := messagesOf(p)
		if err != nil {
			return err
		}
		b.raw("messages", messages)
	case p.Text == "" && p.IDs != nil:
		ids, err := json.Marshal(p.IDs)
		if err != nil {
			return err
		}
		b.raw("input", ids)
	default:
		all, err := plainTexts(p)
		if err != nil {
			return err
		}
		b.texts("input", all, false)
	}
	return nil
}

// score writes a request to vLLM's score, which compares a query with each passage. All releases of vLLM know
// these names of the members:
//
//	{"model": M, "text_1": "query", "text_2": ["passage", …]}
func (b *object) score(p *workload.Prompt, o Options) error {
	if err := ranks(p); err != nil {
		return err
	}
	b.model(o)
	b.text("text_1", p.Text)
	b.raw("text_2", quoteAll(p.More))
	return nil
}
