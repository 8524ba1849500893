package render

import (
	"errors"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// ranking writes a request to rank the texts p.More by the query p.Text:
//
//	v1/ranking             {"model": M, "query": {"text": "…"}, "passages": [{"text": "…"}, …]}
//	v1/rerank, v2/rerank   {"model": M, "query": "…", "documents": ["…", …]}
//	rerank                 {"query": "…", "texts": ["…", …]}
func (b *object) ranking(api API, p *workload.Prompt, o Options) error {
	if err := ranks(p); err != nil {
		return err
	}
	if api == TEIRerank {
		b.text("query", p.Text)
		b.raw("texts", quoteAll(p.More))
		return nil
	}
	b.model(o)
	if api == Rerank {
		b.text("query", p.Text)
		b.raw("documents", quoteAll(p.More))
		return nil
	}
	var query object
	query.text("text", p.Text)
	b.raw("query", query.close())
	b.raw("passages", passagesOf(p))
	return nil
}

// ranks returns an error if p has no query or no texts to rank.
func ranks(p *workload.Prompt) error {
	if err := noMedia(p, "rankings"); err != nil {
		return err
	}
	if p.Messages != nil || len(p.More) == 0 {
		return errors.New("a ranking takes a query and what to rank; give \"query\" and \"passages\"")
	}
	return nil
}

// passagesOf returns the texts to rank as objects with a text.
func passagesOf(p *workload.Prompt) []byte {
	out := []byte{'['}
	for _, text := range p.More {
		var passage object
		passage.text("text", text)
		out = appendPart(out, passage.close())
	}
	return append(out, ']')
}
