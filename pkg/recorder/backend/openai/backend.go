package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
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
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// DefaultEndpoint is the default of Config.Endpoint.
const DefaultEndpoint = "v1/chat/completions"

// Config configures a Backend.
type Config struct {
	// URL is host:port, which means http, or http(s)://host:port/path?query. A path is
	// put before the endpoint unless it ends with the endpoint. A user name and password
	// become basic authorization.
	URL string
	// Endpoint is the path of the requests, with an optional query; "" means
	// DefaultEndpoint. The values of queries and headers are secrets, which are hidden
	// where a server repeats them.
	Endpoint string
	// SGLang makes the endpoint generate SGLang's, and not the one of Hugging Face's TGI.
	SGLang bool
	// Model is set in bodies that name no model; "" means the only model that the server
	// lists, see Check.
	Model string
	// Models are further models that entries name. Check also looks for them in the list.
	Models []string
	// Streaming sets "stream": true in every body. Otherwise bodies stay unchanged.
	// Bodies made from Render.Template always stay unchanged.
	Streaming bool
	// Render configures how prompts become requests. Its Model and Stream are ignored.
	// Only ExtraBody is added to a body made from a Template.
	Render render.Options
	// ExtraBody is a JSON object whose members are set in every body.
	ExtraBody json.RawMessage
	// Bodies are parts of requests whose credentials, see [redact.Members], are hidden where a
	// server repeats them.
	Bodies []string
	// HistoryReasoning says whether the history of a conversation keeps the reasoning of the answers.
	HistoryReasoning openai.HistoryReasoning
	// KeepMedia keeps the bytes of images in answers. Otherwise Decode replaces each image in base64 by its size and its
	// SHA-256.
	KeepMedia bool
	// ServerHistory leaves the history of conversations with v1/responses to the server: all requests ask it to store the answer,
	// and a turn holds its own items and the id of the answer before it. It needs a server that has all answers, so it does not
	// fit several servers in turn.
	ServerHistory bool
	// Headers are sent with every request. They may replace the backend's own headers
	// (Accept, Content-Type, Host, User-Agent). Headers with places are sent with requests of
	// the load only; RequestIDSeed is [backend.RequestHeaders].Seed.
	Headers       []Header
	RequestIDSeed uint64
	// ReturnHeader is the name of a header that answers to the requests of a session may have. It is
	// sent back with the next requests of the same agent; "" for none.
	ReturnHeader string
	// TLS configures https; nil means the defaults of crypto/tls.
	TLS *tls.Config
	// Transport sends the requests. New returns an error for Loop if it cannot be used.
	Transport Transport
	// Reuse says which connection carries a request. With Fresh it is closed after
	// each answer, which does not show in the request. With Prewarm, Open opens it.
	// The first request on it is not marked as reused, and has the times of opening
	// it, although they lie before the load.
	Reuse backend.Reuse
	// PrewarmOptional leaves connections that Open cannot open to their first requests:
	// see [backend.Prewarming].
	PrewarmOptional bool
	// Proxy returns the proxy for a URL with scheme and host, or nil for none; a nil
	// Proxy means no proxies. The result is as for http.Transport.Proxy. New calls it
	// once.
	Proxy func(*url.URL) (*url.URL, error)
	// HTTP2 requires HTTP/2: negotiated by ALPN over TLS, else by prior knowledge. There
	// is no fallback to HTTP/1.1.
	HTTP2 bool
	// Sources are the local addresses of the connections; nil leaves them to the system.
	Sources *backend.Sources
	// UserStamps takes all times in user space, for comparisons.
	UserStamps bool
	// MaxAnswerMemory bounds the memory of an answer, in bytes: see
	// [backend.AnswerMemory]. 0 means [backend.DefaultAnswerMemory].
	MaxAnswerMemory int64
}

// A Backend sends requests to one server. Use New.
type Backend struct {
	cfg     Config
	target  *target
	proxy   *url.URL // nil: none
	extra   []byte   // Config.ExtraBody, compact
	streams bool     // rendered bodies ask for streamed answers
	model   string
	listed  []string // models that the server lists
	// warnings holds the warnings of the last Check.
	warnings []backend.Warning
	secrets  redact.Secrets
	conns    atomic.Int64 // number of connections made
	// prewarming opens connections in Open.
	prewarming backend.Prewarming
	release    func() // releases the kernel's stamps; nil before Check
	// closingTime is the constant; tests change it, so that a busy machine does not
	// decide their outcome.
	closingTime time.Duration
	// handshakeTimeout bounds TLS handshakes while checking; under load they may
	// take longer. Tests shorten it.
	handshakeTimeout time.Duration
	checking         bool // Check is connecting

	fixed      []Header               // Config.Headers without places
	perRequest backend.RequestHeaders // the others

	// For the transport NetHTTP.
	transport          *http.Transport
	host               string
	header, bodyHeader http.Header // without and with a body

	mu   sync.Mutex
	loop loopTransport // nil before the first Open; guarded by mu
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Warner  = (*Backend)(nil)
)

// New returns a backend. It opens no connection. The error names all mistakes in cfg.
func New(cfg Config) (*Backend, error) {
	b := &Backend{cfg: cfg, model: cfg.Model, closingTime: closingTime, handshakeTimeout: backend.HandshakeTimeout}
	b.prewarming.Optional = cfg.PrewarmOptional
	if b.cfg.MaxAnswerMemory <= 0 {
		b.cfg.MaxAnswerMemory = backend.DefaultAnswerMemory
	}
	var errs []error
	var err error
	b.target, err = newTarget(cfg.URL, cfg.Endpoint)
	errs = append(errs, err)
	if cfg.SGLang && err == nil {
		b.target.api = b.target.api.For(render.SGLang)
	}
	errs = append(errs, b.useHeaders())
	for _, part := range cfg.Bodies {
		b.secrets.AddMembers(part)
	}
	if len(cfg.ExtraBody) > 0 {
		if b.extra, err = openai.MergeRequest(cfg.ExtraBody, nil); err != nil {
			errs = append(errs, fmt.Errorf("extra body: %w", err))
		}
	}
	b.streams = cfg.Streaming
	if extra, err := openai.InspectRequest(b.extra); err == nil && extra.Stream {
		b.streams = true
	}
	if b.target != nil && b.target.api == render.Gemini {
		b.model = cmp.Or(b.model, b.target.geminiModel())
		if cfg.Streaming && !b.target.stream {
			errs = append(errs, errors.New("generateContent answers as a whole; for streamed answers give the path that ends with :streamGenerateContent?alt=sse"))
		}
	}
	if b.target != nil {
		if cfg.ServerHistory && b.target.api != render.Responses {
			errs = append(errs, errors.New("a server keeps the history of conversations with v1/responses only"))
		}
		errs = append(errs, b.useProxy())
		_, err := b.chooseTransport()
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	b.secrets.AddQuery(b.target.secretQuery())
	if auth := b.target.auth; auth.Value != "" {
		b.secrets.AddHeader(auth.Name, auth.Value)
	}
	b.transport = newTransport(cfg.HTTP2)
	_, b.header = b.httpHeader(false)
	b.host, b.bodyHeader = b.httpHeader(true)
	return b, nil
}

// Transport returns the transport that requests take: Loop or NetHTTP.
func (b *Backend) Transport() Transport {
	t, _ := b.chooseTransport() // New found no mistake
	return t
}

// Model returns the model for bodies without one: the configured model or, after Check,
// the only model that the server lists; "" if there is none.
func (b *Backend) Model() string { return b.model }

// Open returns a sender, which connects with its first request. With Prewarm it connects
// at once; the error of that is one line, which begins with the URL. With Loop the first
// call starts the loops.
func (b *Backend) Open(ctx context.Context, _ int, clock *rxclock.Clock) (backend.Sender, error) {
	s, err := b.openSender(clock)
	if err != nil || b.cfg.Reuse != backend.Prewarm {
		return s, err
	}
	if err := b.prewarming.Open(ctx, s.warm); err != nil {
		return nil, b.openError(ctx, err)
	}
	return s, nil
}

// openSender returns a sender without a connection.
func (b *Backend) openSender(clock *rxclock.Clock) (warmer, error) {
	if b.Transport() != Loop {
		return newSender(b, clock), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loop == nil {
		l, err := newLoop(b)
		if err != nil {
			return nil, err
		}
		b.loop = l
	}
	return b.loop.newSender(clock), nil
}

// openError describes a failed connection in one line.
func (b *Backend) openError(ctx context.Context, err error) error {
	_, msg := classify(b.target, giveUp(ctx, err))
	return errors.New(b.secrets.Text(msg))
}

// Close ends the loops and releases the kernel's stamps. All senders must be closed.
func (b *Backend) Close() error {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loop == nil {
		return nil
	}
	err := b.loop.Close()
	b.loop = nil
	return err
}
