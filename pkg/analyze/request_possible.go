package analyze

import (
	"cmp"
	"context"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// PossibleHits reads all requests of r and returns for each, in the order of the file, which tokens of its prompt a prefix
// cache could have held; see [figure.PossibleCache]. cfg.Sessions and cfg.Counter must be set. The error is the cause of the
// end of ctx; the error of r is in r.Err, and the hits are of the requests before it.
func PossibleHits(ctx context.Context, r export.Reader, cfg Config) ([]figure.PossibleHit, error) {
	cache := figure.NewPromptCache(cfg.Sessions, cmp.Or(cfg.MemoryLimit, DefaultMemoryLimit))
	all := figure.NewSessionCollector(cfg.Sessions, nil)
	m, parts := answer.NewMeter(r.Run(), cfg.PerRequest()), cache.Parts()
	for r.Next() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		request := r.Request()
		q := m.Measure(request)
		p := point(request, q)
		p.inSession(request, q.Answer, parts, cfg.Sessions)
		p.place(cache)
		all.Add(p.sessionRequest())
	}
	cache.Compute([]*figure.SessionCollector{all})
	return all.Hits(cache), nil
}
