package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/sim/ledger"
)

// A Server is a running simulated server. Its methods may be called
// concurrently. Use [Start].
type Server struct {
	config Config
	ledger ledger.Ledger
	slots  chan struct{} // holds a value per request being worked on; nil: no limit
	next   atomic.Uint64 // the next request's index
	stats  map[string]*modelStats
	engine *engineStats
	traces traces
	shared sharedRegions
	// sequences has those of each model.
	sequences map[string]*sequences

	openAI, tritonHTTP, tritonGRPC string // addresses, "" when off

	ctx    context.Context    // done when the server closes; its handlers' parent
	cancel context.CancelFunc // cause of ctx
	https  []*http.Server
	grpc   *grpc.Server
	conns  connTable
	unhold func()         // lets the kernel stop to stamp
	serves sync.WaitGroup // accept loops and connections
	busy   busy           // requests in flight

	closing   sync.Once
	closeErr  error
	closeDone chan struct{}
}

// Start starts a server and returns when it accepts requests. It closes when
// ctx is done, or by Close.
func Start(ctx context.Context, config Config) (*Server, error) {
	if err := errors.Join(config.Validate(), ctx.Err()); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	c := config.withDefaults()
	s := &Server{
		config: c,
		ledger: ledger.Ledger{Options: ledger.Options{
			Limit: c.LedgerLimit, MaxBytes: c.LedgerBytes, KeepFirst: c.LedgerKeepFirst,
			HashOnly: c.LedgerHashOnly, TimesOnly: c.LedgerTimesOnly,
		}},
		stats: map[string]*modelStats{}, engine: newEngineStats(), sequences: map[string]*sequences{}, closeDone: make(chan struct{}),
	}
	if c.MaxConcurrency > 0 {
		s.slots = make(chan struct{}, c.MaxConcurrency)
	}
	for _, m := range c.TritonModels {
		s.stats[m.Name] = &modelStats{}
		s.sequences[m.Name] = &sequences{}
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.unhold = sockstamp.Hold()
	if err := s.listen(); err != nil {
		s.shut()
		return nil, fmt.Errorf("sim: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	context.AfterFunc(s.ctx, func() { stop() })
	return s, nil
}

// listen opens all listeners, then serves them.
func (s *Server) listen() error {
	var listeners [3]net.Listener
	for i, addr := range []string{s.config.OpenAIAddr, s.config.TritonHTTPAddr, s.config.TritonGRPCAddr} {
		if addr == Off {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(s.ctx, "tcp", addr)
		if err != nil {
			for _, open := range listeners[:i] {
				if open != nil {
					err = errors.Join(err, open.Close())
				}
			}
			return err
		}
		listeners[i] = l
	}
	if l := listeners[0]; l != nil {
		s.openAI = l.Addr().String()
		s.serveHTTP(l, s.openAIHandler(), true)
	}
	if l := listeners[1]; l != nil {
		s.tritonHTTP = l.Addr().String()
		s.serveHTTP(l, s.tritonHandler(), false)
	}
	if l := listeners[2]; l != nil {
		s.tritonGRPC = l.Addr().String()
		s.serveGRPC(l)
	}
	return nil
}

// serveHTTP serves l until the server closes. With http2 a client without TLS may
// speak that as well, if it knows (RFC 9113, section 3.3).
func (s *Server) serveHTTP(l net.Listener, h http.Handler, http2 bool) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(http2 && s.config.TLS == nil)
	srv := &http.Server{
		Handler: h, Protocols: protocols,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    log.New(io.Discard, "", 0), // connections broken on purpose are no news
		ConnState: func(_ net.Conn, state http.ConnState) {
			// Accepting goes on in a goroutine of serves, so Add cannot meet a
			// Wait with the counter at 0.
			switch state {
			case http.StateNew:
				s.serves.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.serves.Done()
			}
		},
	}
	s.https = append(s.https, srv)
	timed := &httpListener{Listener: l, options: sockstamp.Options{NoTransmit: !s.config.KernelSends, KeepTransmit: 2 * maxLeaving}}
	if s.config.TLS != nil {
		timed.tls = s.config.TLS.Clone()
		timed.tls.NextProtos = []string{"http/1.1"}
	}
	s.serves.Go(func() { _ = srv.Serve(timed) }) // always an error: the server was closed
}

// OpenAIURL returns the base of the OpenAI API ("http://127.0.0.1:40001",
// without /v1), "" when it is off.
func (s *Server) OpenAIURL() string { return s.url(s.openAI) }

// TritonHTTPURL returns the base of Triton's HTTP API (without /v2), "" when it
// is off.
func (s *Server) TritonHTTPURL() string { return s.url(s.tritonHTTP) }

// TritonGRPCAddr returns the host:port of Triton's gRPC API, "" when it is off.
func (s *Server) TritonGRPCAddr() string { return s.tritonGRPC }

func (s *Server) url(addr string) string {
	switch {
	case addr == "":
		return ""
	case s.config.TLS != nil:
		return "https://" + addr
	}
	return "http://" + addr
}

// Ledger returns copies of the entries kept, by index; requests in flight are
// among them, with End EndRunning. It works after Close too. A client may know
// of its last byte before the server has noted that the request ended: see Wait.
func (s *Server) Ledger() []ledger.Entry { return s.ledger.Entries() }

// LedgerDropped returns how many requests are not in the ledger because of its
// limits.
func (s *Server) LedgerDropped() uint64 { return s.ledger.Dropped() }

// WriteLedger writes the entries kept as JSON lines, see [Entry].
func (s *Server) WriteLedger(w io.Writer) error { return s.ledger.WriteSince(w, 0) }

// Wait returns nil when no request is in flight, or ctx's error.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.busy.idle():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shutdown lets the requests in flight end, meanwhile takes no new connections
// over HTTP, then closes. When ctx is done first, it cuts off what is left and returns
// ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, h := range s.https {
		wg.Go(func() { _ = h.Shutdown(ctx) })
	}
	err := s.Wait(ctx)
	wg.Wait()
	return errors.Join(err, s.Close())
}

// Close stops listening, cuts off the requests in flight (End
// EndServerClosed), waits until everything the server started has ended, and
// writes the ledger to Config.LedgerWriter. Its error is that of writing.
// Further calls wait for the first and return the same.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.shut()
		if w := s.config.LedgerWriter; w != nil {
			s.closeErr = s.WriteLedger(w)
		}
		close(s.closeDone)
	})
	<-s.closeDone
	return s.closeErr
}

// shut stops everything and waits for it.
func (s *Server) shut() {
	s.cancel()
	for _, h := range s.https {
		_ = h.Close() // closes listener and connections; nothing to do about an error
	}
	if s.grpc != nil {
		s.grpc.Stop()
	}
	s.serves.Wait()
	<-s.busy.idle()
	_ = s.shared.remove("") // nothing was written that could be lost
	s.unhold()
}

// A busy counts requests in flight.
type busy struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed while n is 0; nil before the first
}

func (b *busy) add() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		b.zero = make(chan struct{})
	}
	b.n++
}

func (b *busy) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 {
		close(b.zero)
	}
}

// idle returns a channel that is closed as soon as nothing is in flight.
func (b *busy) idle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.zero == nil {
		b.zero = make(chan struct{})
		close(b.zero)
	}
	return b.zero
}
