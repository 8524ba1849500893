package openai

import (
	"context"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// An attempter is a sender of either transport.
type attempter interface {
	// attempt tries an exchange on the present connection or a new one. stale says that
	// the connection was closed before the server received anything of the request. The
	// error is a *dialError.
	attempt(ctx context.Context, p *payload, r *export.Request) (stale bool, err error)
}

// send performs one exchange through s, whose answer is a. A request whose connection
// was closed under it is sent once more. The package comment explains the times;
// outcome.go classifies failures.
func (b *Backend) send(ctx context.Context, clock *rxclock.Clock, s attempter, a *answer, p backend.Payload, x *backend.Exchange) {
	r := &x.Request
	r.IssuedNS = clock.NowNS()
	a.begin(x)
	own := b.withHeaders(p.(*payload), x)
	if own.images > 0 {
		x.Sent = own
	}
	stale, err := s.attempt(ctx, own, r)
	if stale {
		r.Resent = true
		_, err = s.attempt(ctx, own, r) // on a new connection
	}
	if err != nil {
		a.end(giveUp(ctx, err))
	}
}
