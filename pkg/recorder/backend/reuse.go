package backend

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A Reuse chooses the connection of a request.
type Reuse uint8

// The values of --connection-reuse.
const (
	// Keep keeps a sender's connection for all requests. The first request opens it, and
	// its time includes that.
	Keep Reuse = iota
	// Fresh opens a connection for every request and closes it afterwards.
	Fresh
	// Prewarm is Keep with connections that Backend.Open opens before the load, including
	// TLS.
	Prewarm
)

var reuseNames = [...]string{"reuse", "fresh", "prewarm"}

// String returns "reuse", "fresh" or "prewarm".
func (r Reuse) String() string {
	if int(r) < len(reuseNames) {
		return reuseNames[r]
	}
	return fmt.Sprintf("Reuse(%d)", uint8(r))
}

// MarshalText implements encoding.TextMarshaler.
func (r Reuse) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// ParseReuse is the inverse of String.
func ParseReuse(name string) (Reuse, error) {
	if i := slices.Index(reuseNames[:], name); i >= 0 {
		return Reuse(i), nil
	}
	return Keep, fmt.Errorf("unknown connection reuse %q; expected reuse, fresh or prewarm", name)
}

// Prewarming opens the connections of a backend before the load. It is safe for concurrent
// use.
type Prewarming struct {
	// Optional says that a connection that cannot be opened, and those after it, are left
	// to their first requests, whose rows then say why.
	Optional bool
	failed   atomic.Bool
}

// optionalTimeout bounds how long an optional connection may take. The kernel asks three
// times in 7 s.
const optionalTimeout = 10 * time.Second

// Open opens a connection with connect. It returns the error of ctx, or of connect unless
// the connection is optional.
func (p *Prewarming) Open(ctx context.Context, connect func(context.Context) error) error {
	if !p.Optional {
		return connect(ctx)
	}
	if p.failed.Load() {
		return ctx.Err()
	}
	bounded, cancel := context.WithTimeout(ctx, optionalTimeout)
	defer cancel()
	if connect(bounded) != nil {
		p.failed.Store(true)
	}
	return ctx.Err()
}
