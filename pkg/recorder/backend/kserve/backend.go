package kserve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A Backend sends to one model of one server. Use New.
type Backend struct {
	cfg     Config
	target  target
	clock   *rxclock.Clock
	batch   int64
	secrets redact.Secrets

	model   modelInfo // set by Check
	outputs []string
	decoded wire.Response // reused by Decode

	mu      sync.Mutex
	conns   []*grpc.ClientConn // shared by the slots, when cfg.Connections > 0
	release func()             // what holds the kernel's stamps; nil before Check
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It connects to nothing; the error is that of
// c.Validate.
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
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = defaultMaxBodyBytes
	}
	b := &Backend{cfg: c, target: t, clock: c.Clock, batch: int64(max(c.BatchSize, 1))}
	for name, values := range c.Headers {
		for _, v := range values {
			b.secrets.AddHeader(name, v)
		}
	}
	return b, nil
}

// Model implements backend.Backend.
func (b *Backend) Model() string { return b.cfg.Model }

// Open implements backend.Backend: it connects and, when streaming, opens the
// stream, so that no request pays for it.
func (b *Backend) Open(ctx context.Context, slot int) (backend.Sender, error) {
	if b.cfg.Protocol == HTTP {
		return newHTTPSender(b, slot), nil
	}
	conn, owned, err := b.conn(slot)
	if err != nil {
		return nil, err
	}
	s := &grpcSender{b: b, slot: slot, conn: conn, owned: owned, codec: codec{clock: b.clock}}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", b.target.host, b.hide(err)), s.Close())
	}
	return s, nil
}

// conn returns the connection of a slot, and whether the slot is to close it.
func (b *Backend) conn(slot int) (conn *grpc.ClientConn, owned bool, err error) {
	if b.cfg.Connections == 0 {
		conn, err = b.dial(nil, b.cfg.MaxBodyBytes)
		return conn, true, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.conns) < b.cfg.Connections {
		conn, err = b.dial(nil, b.cfg.MaxBodyBytes)
		if err != nil {
			return nil, false, err
		}
		b.conns = append(b.conns, conn)
	}
	return b.conns[slot%len(b.conns)], false, nil
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.release != nil {
		b.release()
		b.release = nil
	}
	var errs []error
	for _, c := range b.conns {
		errs = append(errs, c.Close())
	}
	b.conns = nil
	return errors.Join(errs...)
}
