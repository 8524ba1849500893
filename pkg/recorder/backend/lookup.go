package backend

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// TraceLookup returns a context to dial with. After dialing, took returns how long the
// lookup of the name took; 0 for an address.
func TraceLookup(ctx context.Context) (dialing context.Context, took func() time.Duration) {
	var mu sync.Mutex // the resolver may report after dialing was given up
	var from, to time.Time
	dialing = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { mu.Lock(); from = time.Now(); mu.Unlock() },
		DNSDone:  func(httptrace.DNSDoneInfo) { mu.Lock(); to = time.Now(); mu.Unlock() },
	})
	return dialing, func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if from.IsZero() || !to.After(from) {
			return 0
		}
		return to.Sub(from)
	}
}
