package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

const (
	// afterDone is the longest wait for the end of an answer after [DONE]. Then the
	// connection is closed instead of being kept.
	afterDone = time.Second
	// bodyBufferBytes is the size of the buffer for reading a body.
	bodyBufferBytes = 4 << 10
)

// A sender is a sender of the transport NetHTTP. It sends one request at a time on its own
// connection, through an HTTP client of this connection.
type sender struct {
	b      *Backend
	clock  *rxclock.Clock
	conn   *conn // nil before the first request and after a broken one
	answer answer
	buf    []byte // for bodies
}

var (
	_ attempter = (*sender)(nil)
	_ warmer    = (*sender)(nil)
)

func newSender(b *Backend, clock *rxclock.Clock) *sender {
	return &sender{b: b, clock: clock, answer: answer{b: b}}
}

// A conn is a connection and the HTTP client on it.
type conn struct {
	*dialedConn
	client *http.ClientConn
	watch  watcher
	id     int
	// waited says that the connection was idle, so the server may have closed it: it
	// carried a request before or was opened before the load.
	waited  bool
	carried int // requests
}

// A watcher returns the times of the exchange on a connection, and its errors.
type watcher interface {
	// begin announces a request.
	begin(method string, bodyBytes int)
	// request returns when the request left. Call it when the answer begins.
	request() (start, sent stamp)
	// head returns the reads that brought the answer's first byte and completed its head.
	head() (first, whole span)
	// at returns the part of the body with the byte at offset.
	at(offset int64) span
	// revised returns the stamps that replace stamps of the answer's reads. Call it when
	// the answer is complete.
	revised() []revision
	// answered reports whether any byte of an answer came.
	answered() bool
	// cause returns why there is no complete answer. err is the client's error.
	cause(err error) error
	// notDelivered reports whether the server certainly did not receive the request.
	// err is the client's error.
	notDelivered(err error) bool
	// usable reports whether the connection may carry another request.
	usable() bool
}

// Send implements [backend.Sender].
func (s *sender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	s.b.send(ctx, s.clock, s, &s.answer, p, x)
}

// Close closes the connection.
func (s *sender) Close() error {
	s.drop()
	return nil
}

// drop closes the connection. It ignores the error: the request has its status.
func (s *sender) drop() {
	if s.conn != nil {
		_ = s.conn.client.Close()
		s.conn = nil
	}
}

// closedIdle is the text of net/http's unexported error for a connection that ended before
// the request was written to it. A 408 may have come before the end.
const closedIdle = "http: server closed idle connection"

// warm implements warmer.
func (s *sender) warm(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err == nil {
		c.waited = true
	}
	return err
}

// attempt implements attempter.
func (s *sender) attempt(ctx context.Context, p *payload, r *export.Request) (stale bool, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	return s.attemptOn(ctx, c, p, r), nil
}

// attemptOn tries the exchange on c, the connection of s.
func (s *sender) attemptOn(ctx context.Context, c *conn, p *payload, r *export.Request) (stale bool) {
	waited := c.waited
	r.Reused, r.Conn = c.carried > 0, c.id
	if !r.Reused {
		r.DNS, r.Connect, r.TLS = c.dns, c.connect, c.tls
	} else {
		r.DNS, r.Connect, r.TLS = 0, 0, 0
	}
	c.carried++
	c.waited = true
	if s.b.cfg.HTTP2 {
		// net/http ends a stream when it has written RST_STREAM. It never does so on a
		// connection whose server does not read.
		stop := context.AfterFunc(ctx, func() { _ = c.raw.Close() }) // the request has its status
		defer func() {
			if !stop() {
				s.drop()
			}
		}()
	}
	c.watch.begin(p.method, len(p.body))
	resp, err := c.client.RoundTrip(s.b.httpRequest(ctx, p))
	// Asked now, because the kernel's stamps of the writes are there by now.
	start, sent := c.watch.request()
	first, whole := c.watch.head()
	if sent.source != export.SourceKernel && first.at.ns != 0 {
		sent.ns = min(sent.ns, first.at.ns) // the write may have returned after the answer came
	}
	r.StartNS, r.StartSource, r.SentNS, r.FirstByteNS = start.ns, start.source, sent.ns, first.at.ns
	if err != nil {
		if waited && (!c.watch.answered() || strings.HasSuffix(err.Error(), closedIdle)) && ctx.Err() == nil && c.watch.notDelivered(err) {
			s.drop()
			return true
		}
		err = c.watch.cause(err)
		s.drop()
		s.answer.end(giveUp(ctx, err))
		return false
	}
	if waited && resp.StatusCode == http.StatusRequestTimeout && resp.Close && c.watch.notDelivered(nil) {
		s.drop()
		_ = resp.Body.Close()
		return true // the 408 is about the idle connection, before the request came
	}
	s.answer.head(resp, whole.at, whole.read)
	if keep := s.read(ctx, c, resp, first.read); !keep || s.b.cfg.Reuse == backend.Fresh || !c.usable() {
		s.drop()
	}
	return false
}

// read passes the body to the answer and reports whether the connection can be kept.
// firstRead is the number of the read that brought the first byte of the answer.
func (s *sender) read(ctx context.Context, c *conn, resp *http.Response, firstRead uint32) (keep bool) {
	end := func(err error) bool {
		s.answer.revise(c.watch.revised(), firstRead)
		return s.answer.end(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or the connection goes
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return end(nil) // what follows is no body
	}
	if s.buf == nil {
		s.buf = make([]byte, bodyBufferBytes)
	}
	var offset int64
	limited := false
	stretch := 0
	for {
		if stretch >= backend.YieldBytes {
			stretch = 0
			runtime.Gosched()
		}
		n, err := resp.Body.Read(s.buf)
		stretch += n
		for p := s.buf[:n]; len(p) > 0; {
			part := c.watch.at(offset)
			k := int(min(int64(len(p)), part.end-offset))
			if tooLong := s.answer.data(p[:k], part.at, part.read); tooLong != nil {
				end(giveUp(ctx, tooLong))
				return false
			}
			p, offset = p[k:], offset+int64(k)
		}
		if err != nil {
			if err != io.EOF { //nolint:errorlint // the end of a body is not wrapped
				err = c.watch.cause(err)
			}
			keep = end(giveUp(ctx, err))
			return keep && (!limited || c.nc.SetReadDeadline(time.Time{}) == nil)
		}
		if s.answer.sawDone && !limited {
			limited = true
			if err := c.nc.SetReadDeadline(time.Now().Add(afterDone)); err != nil {
				end(err)
				return false
			}
		}
	}
}

// connect returns the sender's connection. It makes a new one if the old one is not usable.
func (s *sender) connect(ctx context.Context) (*conn, error) {
	if s.conn != nil && (!s.conn.usable() || !alive(s.conn.raw, s.b.target.secure || s.b.cfg.HTTP2)) {
		s.drop()
	}
	if s.conn != nil {
		return s.conn, nil
	}
	c, err := s.b.connect(ctx, s.clock)
	if err != nil {
		return nil, err
	}
	c.id = int(s.b.conns.Add(1))
	s.conn = c
	return c, nil
}

// usable reports whether the connection may carry another request.
func (c *conn) usable() bool { return c.watch.usable() && c.client.Available() > 0 }

// connect opens a connection with an HTTP client. The error is a *dialError.
func (b *Backend) connect(ctx context.Context, clock *rxclock.Clock) (*conn, error) {
	protocol := "http/1.1"
	if b.cfg.HTTP2 {
		protocol = "h2"
	}
	l, err := b.dial(ctx, protocol)
	if err != nil {
		return nil, err
	}
	c, err := b.connOn(ctx, l, clock)
	if err != nil {
		_ = l.nc.Close() // it is of no use
		return nil, &dialError{err}
	}
	return c, nil
}

// connOn returns a connection with an HTTP client.
func (b *Backend) connOn(ctx context.Context, l *dialedConn, clock *rxclock.Clock) (*conn, error) {
	if b.cfg.HTTP2 {
		return b.http2On(ctx, l, clock)
	}
	return b.http1On(ctx, l, clock)
}

// httpRequest returns the request of p for net/http. Requests share URL and, without headers of their own, Header; no client changes
// them.
func (b *Backend) httpRequest(ctx context.Context, p *payload) *http.Request {
	r := &http.Request{
		Method: p.method, URL: p.url, Host: b.host, Header: b.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if p.body != nil {
		if r.Header = b.bodyHeader; len(p.own) > 0 {
			r.Header = b.bodyHeader.Clone()
			for _, h := range p.own {
				r.Header[h.Name] = append(r.Header[h.Name], h.Value)
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(p.body)), int64(len(p.body))
	}
	return r.WithContext(ctx)
}
