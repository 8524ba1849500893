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
)

// A Server is a running simulated server. Its methods may be called
// concurrently. Use [Start].
type Server struct {
	config Config
	ledger ledger
	slots  chan struct{} // one value per request in progress; nil for no limit
	next   atomic.Uint64 // index of the next request
	stats  map[string]*modelStats
	engine *engineStats
	cache  *prefixCache // nil: none
	stored storedResponses
	traces traces
	shared sharedRegions
	// sequences holds the live sequences of each model.
	sequences map[string]*sequences

	bound map[apiName]string // addresses of the APIs that are not disabled

	ctx        context.Context    // done when the server closes; its handlers' parent
	cancel     context.CancelFunc // cancels ctx
	https      []*http.Server
	grpc       *grpc.Server
	conns      connTable
	newcomers  newcomers
	stopStamps func()         // ends the kernel's stamping of sockets
	serves     sync.WaitGroup // accept loops and connections
	inFlight   inFlight       // requests in flight

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
		bound:  map[apiName]string{},
		config: c,
		ledger: ledger{ledgerOptions: ledgerOptions{
			Limit: c.LedgerLimit, MaxBytes: c.LedgerBytes, KeepFirst: c.LedgerKeepFirst,
			HashOnly: c.LedgerHashOnly, TimesOnly: c.LedgerTimesOnly,
		}},
		stats: map[string]*modelStats{}, engine: newEngineStats(), cache: newPrefixCache(c.PrefixCache, c.Encode), sequences: map[string]*sequences{}, closeDone: make(chan struct{}),
	}
	s.newcomers.limit = c.MaxNewcomers
	if c.MaxConcurrency > 0 {
		s.slots = make(chan struct{}, c.MaxConcurrency)
	}
	for _, m := range c.TritonModels {
		s.stats[m.Name] = &modelStats{}
		s.sequences[m.Name] = &sequences{}
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.stopStamps = sockstamp.Hold()
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
	open := map[apiName]net.Listener{}
	for _, a := range s.config.apis() {
		if *a.addr == Off {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(s.ctx, "tcp", *a.addr)
		if err != nil {
			for _, o := range open {
				err = errors.Join(err, o.Close())
			}
			return err
		}
		open[a.name] = l
	}
	for _, a := range s.config.apis() {
		if l := open[a.name]; l != nil {
			s.bound[a.name] = l.Addr().String()
			a.serve(s, l)
		}
	}
	return nil
}

// serveHTTP serves l until the server closes. With http2 and without TLS, it also accepts
// HTTP/2 with prior knowledge (RFC 9113, section 3.3).
func (s *Server) serveHTTP(l net.Listener, h http.Handler, http2 bool) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(http2 && s.config.TLS == nil)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			connOf(r).newcomer.leave()
			h.ServeHTTP(w, r)
		}),
		Protocols:         protocols,
		ReadHeaderTimeout: s.config.HeaderTimeout, // of HTTP/1; a connection may be idle before the next header
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:          log.New(io.Discard, "", 0), // faults break connections on purpose
		ConnState: func(_ net.Conn, state http.ConnState) {
			// serves includes the accepting goroutine, so Add never runs while Wait
			// sees the counter at 0.
			switch state {
			case http.StateNew:
				s.serves.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.serves.Done()
			}
		},
	}
	s.https = append(s.https, srv)
	timed := &httpListener{Listener: l, options: sockstamp.Options{NoTransmit: !s.config.KernelSends, KeepTransmit: 2 * maxUnstamped}, newcomers: &s.newcomers}
	if s.config.TLS != nil {
		timed.tls = s.config.TLS.Clone()
		timed.tls.NextProtos = []string{"http/1.1"}
	}
	s.serves.Go(func() { _ = srv.Serve(timed) }) // always returns an error after Close
}

// OpenAIURL returns the base URL of the OpenAI API without /v1
// ("http://127.0.0.1:40001"); "" if it is disabled.
func (s *Server) OpenAIURL() string { return s.url(s.bound[openAIAPI]) }

// TritonHTTPURL returns the base URL of Triton's HTTP API without /v2; "" if it is
// disabled.
func (s *Server) TritonHTTPURL() string { return s.url(s.bound[tritonHTTPAPI]) }

// TritonGRPCAddr returns the host:port of Triton's gRPC API; "" if it is disabled.
func (s *Server) TritonGRPCAddr() string { return s.bound[tritonGRPCAPI] }

func (s *Server) url(addr string) string {
	switch {
	case addr == "":
		return ""
	case s.config.TLS != nil:
		return "https://" + addr
	}
	return "http://" + addr
}

// Ledger returns copies of the entries, ordered by index. It includes requests in flight,
// with End EndRunning, and works after Close too. A client may have its last byte before the
// ledger records the end of the request; see Wait.
func (s *Server) Ledger() []Entry { return s.ledger.Entries() }

// DroppedConnections returns how many connections the server has closed because they had sent
// no request and newer ones came; see Config.MaxNewcomers.
func (s *Server) DroppedConnections() uint64 { return s.newcomers.count() }

// WriteLedger writes the entries as JSON lines; see [Entry].
func (s *Server) WriteLedger(w io.Writer) error { return s.ledger.WriteSince(w, 0) }

// Wait waits until no request is in flight. It returns the error of ctx if that ends first.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.inFlight.idle():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Shutdown waits for the requests in flight, without accepting HTTP connections, and then
// closes the server. If ctx ends first, it cuts off the remaining requests and returns the
// error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, h := range s.https {
		wg.Go(func() { _ = h.Shutdown(ctx) })
	}
	err := s.Wait(ctx)
	wg.Wait()
	return errors.Join(err, s.Close())
}

// Close stops listening, cuts off the requests in flight with End EndServerClosed, and waits
// for all goroutines of the server. It then writes the ledger to Config.LedgerWriter and
// returns the error of writing. Further calls wait for the first one and return its error.
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
		_ = h.Close() // closes listener and connections; an error has no consequence
	}
	if s.grpc != nil {
		s.grpc.Stop()
	}
	s.serves.Wait()
	<-s.inFlight.idle()
	_ = s.shared.remove("") // an error loses no data
	s.stopStamps()
}

// inFlight counts the requests in flight.
type inFlight struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed while n is 0; nil before the first
}

func (f *inFlight) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		f.zero = make(chan struct{})
	}
	f.n++
}

func (f *inFlight) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.n == 0 {
		close(f.zero)
	}
}

// idle returns a channel that is closed while no request is in flight.
func (f *inFlight) idle() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.zero == nil {
		f.zero = make(chan struct{})
		close(f.zero)
	}
	return f.zero
}
