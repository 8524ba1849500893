package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai/internal/evloop"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai/internal/http1"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// loops is the transport Loop.
type loops struct {
	b      *Backend
	engine *evloop.Engine
}

func newLoop(b *Backend) (loopTransport, error) {
	engine, err := evloop.New()
	if err != nil {
		return nil, err
	}
	return &loops{b: b, engine: engine}, nil
}

func (l *loops) newSender(clock *rxclock.Clock) warmer { return newLoopSender(l.b, l.engine, clock) }

func (l *loops) Close() error { return l.engine.Close() }

// A loopSender sends one request at a time on its own connection. The goroutine of Send
// writes and then waits; one of the loops reads and parses the answer and fills the
// exchange.
type loopSender struct {
	b      *Backend
	clock  *rxclock.Clock
	engine *evloop.Engine
	conn   *loopConn // nil before the first request and after a broken one

	// over has a value when the loop is done with the exchange. The loop starts timer,
	// which ends the wait for the end of the exchange.
	over  chan struct{}
	timer *time.Timer

	// The exchange in progress. It belongs to the loop from conn.Send until over has a
	// value or conn is closed, otherwise to the goroutine of Send.
	answer   answer
	parser   http1.Parser
	waited   bool // conn was idle, so the server may have closed it
	reads    uint32
	before   uint64 // ordinal of the last read before the answer
	begun    stamp  // start of the request
	sent     stamp  // end of the request
	first    stamp  // first byte of the answer; ns 0: none came
	limited  bool   // timer runs because of [DONE]
	late     bool   // the answer may be older than the request
	writeErr error
	err      error // end of the exchange; io.EOF for the end of the answer
}

var (
	_ attempter      = (*loopSender)(nil)
	_ warmer         = (*loopSender)(nil)
	_ evloop.Handler = (*loopSender)(nil)
)

// A loopConn is a connection with the duration of each step of making it.
type loopConn struct {
	*evloop.Conn
	id           int
	dns, connect time.Duration
	waited       bool // the connection was idle
	carried      int  // number of requests
}

func newLoopSender(b *Backend, engine *evloop.Engine, clock *rxclock.Clock) *loopSender {
	s := &loopSender{
		b: b, clock: clock, engine: engine, answer: answer{b: b},
		over: make(chan struct{}, 1), timer: time.NewTimer(time.Hour),
	}
	s.timer.Stop()
	return s
}

// Send implements [backend.Sender].
func (s *loopSender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	s.b.send(ctx, s.clock, s, &s.answer, p, x)
}

// Close closes the connection.
func (s *loopSender) Close() error {
	s.drop()
	return nil
}

// drop closes the connection. It ignores the error: the request has its status.
func (s *loopSender) drop() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// warm implements warmer.
func (s *loopSender) warm(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err == nil {
		c.waited = true
	}
	return err
}

// attempt implements attempter.
func (s *loopSender) attempt(ctx context.Context, p *payload, r *export.Request) (stale bool, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	return s.attemptOn(ctx, c, p, r), nil
}

// attemptOn tries the exchange on c, the connection of s.
func (s *loopSender) attemptOn(ctx context.Context, c *loopConn, p *payload, r *export.Request) (stale bool) {
	r.Reused, r.Conn = c.carried > 0, c.id
	if !r.Reused {
		r.DNS, r.Connect = c.dns, c.connect
	} else {
		r.DNS, r.Connect = 0, 0
	}
	s.begin(p.method, c.waited)
	offset, began := c.Written(), time.Now()
	c.carried++
	c.waited = true
	c.Send(p.request, s)
	s.wait(ctx)

	if s.first.ns == 0 { // Answered was not called
		s.Answered(c.Request())
	}
	if s.sent.source != export.SourceKernel && s.first.ns != 0 {
		s.sent.ns = min(s.sent.ns, s.first.ns) // the write may have returned after the answer
	}
	r.StartNS, r.StartSource, r.SentNS, r.FirstByteNS = s.begun.ns, s.begun.source, s.sent.ns, s.first.ns
	if s.reads > 0 {
		s.answer.revise(revisions(s.clock, c, s.before), 0)
	}
	if s.waited && (s.late || s.first.ns == 0) && ctx.Err() == nil && (s.b.closing(began) || notDelivered(c, offset)) {
		s.drop()
		s.answer.discard()
		return true
	}
	if keep := s.answer.end(giveUp(ctx, s.err)); !keep || !s.usable() {
		s.drop()
	}
	return false
}

// usable reports whether the end of this request allows another one on the connection.
func (s *loopSender) usable() bool {
	return s.b.cfg.Reuse != backend.Fresh && s.writeErr == nil && s.parser.Reusable()
}

// begin resets s for an exchange.
func (s *loopSender) begin(method string, waited bool) {
	s.parser.Reset(method)
	s.waited, s.reads = waited, 0
	s.begun, s.sent, s.first = stamp{}, stamp{}, stamp{}
	s.limited, s.late, s.writeErr, s.err = false, false, nil, nil
}

// wait waits until the loop has ended the exchange. When ctx or the timer ends first, it
// closes the connection.
func (s *loopSender) wait(ctx context.Context) {
	defer s.timer.Stop()
	select {
	case <-s.over:
		return
	case <-ctx.Done():
	case <-s.timer.C:
	}
	_ = s.conn.Close() // the loop does not use s any more
	select {
	case <-s.over: // the loop was just done
	default:
		s.closed(os.ErrDeadlineExceeded)
	}
}

// connect returns the connection to use.
func (s *loopSender) connect(ctx context.Context) (*loopConn, error) {
	if s.conn != nil && !s.conn.Idle() {
		s.drop()
	}
	if s.conn != nil {
		return s.conn, nil
	}
	begin := time.Now()
	nc, dns, err := dialTCP(ctx, s.b.cfg.Sources, s.b.target.addr)
	if err != nil {
		return nil, &dialError{err}
	}
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, &dialError{errors.Join(fmt.Errorf("%T is not a TCP connection", nc), nc.Close())}
	}
	c, err := s.engine.Add(tc, sockstamp.Options{User: s.b.cfg.UserStamps})
	if err != nil {
		return nil, &dialError{err}
	}
	s.conn = &loopConn{Conn: c, id: int(s.b.conns.Add(1)), dns: dns, connect: time.Since(begin) - dns}
	return s.conn, nil
}

// Answered implements [evloop.Handler].
func (s *loopSender) Answered(start, sent sockstamp.Stamp) {
	s.begun, s.sent = requestOnClock(s.clock, start, sent)
}

// Data implements [evloop.Handler].
func (s *loopSender) Data(p []byte, st sockstamp.Stamp) (over bool) {
	at, read := onClock(s.clock, st), s.reads
	s.reads++
	if s.first.ns == 0 {
		s.first, s.before = at, st.Ordinal-1
	}
	s.parser.Feed(p)
	for {
		switch s.parser.Next() {
		case http1.More:
			s.limit()
			return false
		case http1.Head:
			resp := s.parser.Response()
			// The server may have sent it before the request came, for the idle connection.
			s.late = resp.StatusCode == http.StatusRequestTimeout && resp.Close
			s.answer.head(resp, at, read)
		case http1.Data:
			if err := s.answer.data(s.parser.Data(), at, read); err != nil {
				return s.end(err)
			}
		case http1.End:
			return s.end(io.EOF)
		case http1.Failed:
			return s.end(s.parser.Err())
		}
	}
}

// limit starts the timer for the end of an answer after [DONE].
func (s *loopSender) limit() {
	if s.parser.Response() != nil && s.answer.sawDone && !s.limited {
		s.limited = true
		s.timer.Reset(afterDone)
	}
}

// WriteFailed implements [evloop.Handler].
func (s *loopSender) WriteFailed(err error) {
	s.writeErr = opError("write", err)
	s.timer.Reset(afterBrokenWrite) // an answer may still come
}

// Closed implements [evloop.Handler].
func (s *loopSender) Closed(err error) {
	s.closed(err)
	s.over <- struct{}{}
}

// closed handles the end of the connection, which err describes.
func (s *loopSender) closed(err error) {
	answered, ended := s.first.ns != 0, err == io.EOF //nolint:errorlint // no Socket wraps it
	if !ended {
		err = opError("read", err)
	}
	switch {
	case answered && ended && s.parser.EOF() == http1.End:
		s.err = io.EOF
	case s.writeErr != nil:
		s.err = fmt.Errorf("while sending: %w", s.writeErr)
	case !answered:
		s.err = &noAnswerError{err}
	case ended:
		s.err = s.parser.Err()
	default:
		s.err = err
	}
}

// end ends the exchange with err.
func (s *loopSender) end(err error) (over bool) {
	s.err = err
	s.over <- struct{}{}
	return true
}

// opError returns an error of a system call in the form of package net.
func opError(op string, err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Err: err}
}
