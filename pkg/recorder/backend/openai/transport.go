package openai

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// A Transport sends requests and reads answers. The recorded rows do not depend on it.
type Transport uint8

// The transports; their names are the values of --transport.
const (
	// Auto means Loop if it can be used, else NetHTTP.
	Auto Transport = iota
	// Loop reads all connections in a few event loops. It needs Linux and plain HTTP/1.1
	// without a proxy.
	Loop
	// NetHTTP is package net/http on stamped connections.
	NetHTTP
)

var transportNames = [...]string{"auto", "loop", "nethttp"}

// String returns "auto", "loop" or "nethttp".
func (t Transport) String() string {
	if int(t) < len(transportNames) {
		return transportNames[t]
	}
	return fmt.Sprintf("Transport(%d)", uint8(t))
}

// ParseTransport is the inverse of String.
func ParseTransport(name string) (Transport, error) {
	if i := slices.Index(transportNames[:], name); i >= 0 {
		return Transport(i), nil
	}
	return Auto, fmt.Errorf("unknown transport %q; expected auto, loop or nethttp", name)
}

// A loopTransport makes the senders of the transport Loop, which share its loops.
type loopTransport interface {
	// newSender returns a sender without a connection.
	newSender(clock *rxclock.Clock) warmer
	Close() error
}

// A warmer is a sender of either transport.
type warmer interface {
	backend.Sender
	// warm connects before the first request. The error is a *dialError.
	warm(ctx context.Context) error
}

// chooseTransport resolves Auto. It returns an error if Loop was chosen and cannot be used.
func (b *Backend) chooseTransport() (Transport, error) {
	why := b.noLoop()
	switch {
	case b.cfg.Transport == NetHTTP, b.cfg.Transport == Auto && why != nil:
		return NetHTTP, nil
	case b.cfg.Transport == Auto, b.cfg.Transport == Loop && why == nil:
		return Loop, nil
	case b.cfg.Transport == Loop:
		return 0, fmt.Errorf("transport loop: %w; use --transport nethttp or auto", why)
	}
	return 0, fmt.Errorf("unknown transport %v", b.cfg.Transport)
}

// noLoop returns the reason why Loop cannot be used, or nil.
func (b *Backend) noLoop() error {
	switch {
	case runtime.GOOS != "linux":
		return fmt.Errorf("it needs Linux, this is %s", runtime.GOOS)
	case b.target.secure:
		return errors.New("it has no TLS")
	case b.proxy != nil:
		return errors.New("it goes through no proxy")
	case b.cfg.HTTP2:
		return errors.New("it speaks HTTP/1.1 only")
	case b.target.api == render.Realtime:
		return errors.New("it has no WebSocket")
	}
	return nil
}
