package kserve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A Backend sends to one model of one server. Use New.
type Backend struct {
	cfg     Config
	target  target
	proxy   *url.URL // nil: none
	batch   int64
	secrets redact.Secrets

	fixed      http.Header            // Config.Headers without places
	perRequest backend.RequestHeaders // the others

	model   modelInfo // set by Check
	outputs []string
	decoded wire.Response // reused by Decode

	shared *sharing // nil: none
	traced bool     // the trace settings were sent

	made       atomic.Int64       // connections, for their numbers
	prewarming backend.Prewarming // opens connections in Open

	mu      sync.Mutex
	conns   []*stampedClientConn // shared by the slots, when cfg.Connections > 0
	release func()               // what holds the kernel's stamps; nil before Check
}

var _ backend.Stateful = (*Backend)(nil)

// New returns a backend. It connects to nothing and returns the error of c.Validate.
func New(c Config) (*Backend, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	if c.CheckTimeout == 0 {
		c.CheckTimeout = 10 * time.Second
	}
	if c.MaxAnswerMemory == 0 {
		c.MaxAnswerMemory = backend.DefaultAnswerMemory
	}
	proxy, err := c.proxy(t)
	if err != nil {
		return nil, err
	}
	b := &Backend{cfg: c, target: t, proxy: proxy, batch: int64(max(c.BatchSize, 1))}
	b.prewarming.Optional = c.PrewarmOptional
	if c.OutputSharedBytes == 0 {
		b.cfg.OutputSharedBytes = wire.DefaultOutputSharedBytes
	}
	if c.SharedMemory {
		b.shared = &sharing{b: b}
	}
	if err := b.useHeaders(); err != nil {
		return nil, err
	}
	for _, part := range c.Bodies {
		b.secrets.AddMembers(part)
	}
	if proxy != nil {
		b.secrets.AddHeader("Proxy-Authorization", backend.BasicAuthorization(proxy.User))
	}
	return b, nil
}

// Model implements backend.Backend.
func (b *Backend) Model() string { return b.cfg.Model }

// Stateful implements backend.Stateful. It reports whether the model, or a model of its
// ensemble, has Triton's sequence batcher.
func (b *Backend) Stateful() bool { return b.model.Stateful }

// Open implements backend.Backend. With Prewarm it connects and, when streaming, opens the
// stream, so that no request includes that time.
func (b *Backend) Open(ctx context.Context, slot int, clock *rxclock.Clock) (backend.Sender, error) {
	s, err := b.open(slot, clock)
	if err != nil || b.cfg.Reuse != backend.Prewarm {
		return s, err
	}
	if err := b.prewarming.Open(ctx, s.warm); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", b.target.host, b.hide(err)), s.Close())
	}
	return s, nil
}

// A warmer is a sender that can connect before it sends.
type warmer interface {
	backend.Sender
	warm(ctx context.Context) error
}

func (b *Backend) open(slot int, clock *rxclock.Clock) (warmer, error) {
	out, err := b.shared.outputs()
	if err != nil {
		return nil, err
	}
	if b.cfg.Protocol == HTTP {
		return newHTTPSender(b, clock, out), nil
	}
	conn, err := b.connOf(slot)
	if err != nil {
		return nil, err
	}
	return newGRPCSender(b, slot, clock, conn, out), nil
}

// connOf returns the connection of a slot: a shared one, or a new one that the slot
// must close. It returns nil when each request has a connection of its own.
func (b *Backend) connOf(slot int) (*stampedClientConn, error) {
	if b.cfg.Reuse == backend.Fresh {
		return nil, nil
	}
	if b.cfg.Connections == 0 {
		return b.dial(b.cfg.MaxAnswerMemory)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.conns) < b.cfg.Connections {
		conn, err := b.dial(b.cfg.MaxAnswerMemory)
		if err != nil {
			return nil, err
		}
		b.conns = append(b.conns, conn)
	}
	return b.conns[slot%len(b.conns)], nil
}

// Close implements backend.Backend. It returns an error if settings of the server could not
// be restored.
func (b *Backend) Close() error {
	errs := []error{b.endTrace(), b.shared.close()}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.release != nil {
		b.release()
		b.release = nil
	}
	for _, conn := range b.conns {
		errs = append(errs, conn.Close())
	}
	b.conns = nil
	return errors.Join(errs...)
}
