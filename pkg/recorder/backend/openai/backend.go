package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// DefaultEndpoint is what Config.Endpoint "" means.
const DefaultEndpoint = "v1/chat/completions"

// DefaultMaxBodyBytes is what Config.MaxBodyBytes 0 means.
const DefaultMaxBodyBytes = 64 << 20

// Config says which server to talk to and how.
type Config struct {
	// URL is host:port (http is meant) or http(s)://host:port/path?query. A
	// path goes in front of the endpoint, unless it ends with it already; a
	// name and password become basic authorization.
	URL string
	// Endpoint is the path of the requests; "" means DefaultEndpoint. It may
	// have a query.
	Endpoint string
	// Model goes into bodies that name none. "" means the one model that the
	// server lists, see Check.
	Model string
	// Streaming sets "stream": true in every body. Otherwise bodies stay as
	// they are.
	Streaming bool
	// ExtraBody is a JSON object whose members are set in every body.
	ExtraBody json.RawMessage
	// Headers are sent with every request, also those that replace a header
	// of our own (Accept, Content-Type, Host, User-Agent).
	Headers []Header
	// TLS configures https; nil means the defaults of crypto/tls.
	TLS *tls.Config
	// RequestTimeout ends a request that takes longer, with status timeout;
	// 0 means none but that of the context.
	RequestTimeout time.Duration
	// MaxBodyBytes bounds an answer; 0 means DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// Clock is the clock of the run; nil means a new one.
	Clock *rxclock.Clock
}

// A Backend talks to one server. Use New.
type Backend struct {
	cfg     Config
	clock   *rxclock.Clock
	target  *target
	extra   []byte // Config.ExtraBody, compact
	model   string
	listed  []string // what the server lists, when it does
	secrets redact.Secrets
	conns   atomic.Int64 // connections made, for their numbers
	release func()       // what holds the kernel's stamps; nil before Check
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It opens no connection. The error names all mistakes
// in cfg.
func New(cfg Config) (*Backend, error) {
	b := &Backend{cfg: cfg, clock: cfg.Clock, model: cfg.Model}
	if b.clock == nil {
		b.clock = rxclock.New()
	}
	if b.cfg.MaxBodyBytes <= 0 {
		b.cfg.MaxBodyBytes = DefaultMaxBodyBytes
	}
	var errs []error
	var err error
	if b.target, err = newTarget(cfg.URL, cfg.Endpoint); err != nil {
		errs = append(errs, err)
	}
	for _, h := range cfg.Headers {
		errs = append(errs, h.validate())
		b.secrets.AddHeader(h.Name, h.Value)
	}
	if len(cfg.ExtraBody) > 0 {
		if b.extra, err = openai.MergeRequest(cfg.ExtraBody, nil); err != nil {
			errs = append(errs, fmt.Errorf("extra body: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if auth := b.target.auth; auth.Value != "" {
		b.secrets.AddHeader(auth.Name, auth.Value)
	}
	return b, nil
}

// Model returns the model that bodies without one get: that of the
// configuration or, after Check, the only one that the server lists; "" if
// there is none.
func (b *Backend) Model() string { return b.model }

// Open returns a sender. It connects with its first request.
func (b *Backend) Open(context.Context, int) (backend.Sender, error) {
	return &sender{b: b}, nil
}

// Close lets go of the kernel's stamps; senders hold all connections.
func (b *Backend) Close() error {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	return nil
}
