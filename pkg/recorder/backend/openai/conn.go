package openai

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

const (
	readBufferBytes = 32 << 10
	maxHeadBytes    = 1 << 20 // of an answer's head
)

// A conn is a connection that carries one request at a time. Only interrupt
// may be called from another goroutine.
type conn struct {
	nc   net.Conn // TLS or raw
	raw  *stampConn
	br   *bufio.Reader // over nc
	id   int
	used bool // carried a request before

	dns, connect, tls time.Duration

	first stamp // of the first byte of the answer
}

// dial connects to t. The error is a *dialError.
func dial(ctx context.Context, t *target, cfg *tls.Config, clock *rxclock.Clock) (*conn, error) {
	var mu sync.Mutex // the resolver may report after it was given up
	var dnsStart, dnsEnd time.Time
	trace := &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { mu.Lock(); dnsStart = time.Now(); mu.Unlock() },
		DNSDone:  func(httptrace.DNSDoneInfo) { mu.Lock(); dnsEnd = time.Now(); mu.Unlock() },
	}
	begin := time.Now()
	nc, err := new(net.Dialer).DialContext(httptrace.WithClientTrace(ctx, trace), "tcp", t.addr)
	if err != nil {
		return nil, &dialError{err}
	}
	c, err := newConn(nc, clock)
	if err != nil {
		_ = nc.Close() // it is of no use
		return nil, &dialError{err}
	}
	c.connect = time.Since(begin)
	mu.Lock()
	if !dnsStart.IsZero() && dnsEnd.After(dnsStart) {
		c.dns = dnsEnd.Sub(dnsStart)
		c.connect -= c.dns
	}
	mu.Unlock()
	if t.secure {
		begin = time.Now()
		if err := c.handshake(ctx, t, cfg); err != nil {
			_ = nc.Close() // what it says adds nothing to why
			return nil, &dialError{err}
		}
		c.tls = time.Since(begin)
	}
	return c, nil
}

func newConn(nc net.Conn, clock *rxclock.Clock) (*conn, error) {
	stamps, err := sockstamp.Wrap(nc)
	if err != nil {
		return nil, err
	}
	raw := &stampConn{Conn: stamps, stamps: stamps, clock: clock, allow: unlimited}
	return &conn{nc: raw, raw: raw, br: bufio.NewReaderSize(raw, readBufferBytes)}, nil
}

// handshake puts TLS on the connection.
func (c *conn) handshake(ctx context.Context, t *target, cfg *tls.Config) error {
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	} else {
		cfg = cfg.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = t.name
	}
	cfg.NextProtos = []string{"http/1.1"}
	tc := tls.Client(c.raw, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	c.nc = tc
	c.br.Reset(tc)
	return nil
}

// write sends a whole request.
func (c *conn) write(request []byte) error {
	c.raw.begin()
	c.first = stamp{}
	_, err := c.nc.Write(request)
	return err
}

// head reads the head of the answer.
func (c *conn) head() (*http.Response, error) {
	const interim = 8 // as many answers of 100 to 199 are skipped
	c.raw.allow = maxHeadBytes
	defer func() { c.raw.allow = unlimited }()
	if _, err := c.br.Peek(1); err != nil {
		return nil, &noAnswerError{err}
	}
	c.first, _ = c.raw.lastRead()
	for range interim {
		if start, err := c.br.Peek(len("HTTP/")); string(start) != "HTTP/" {
			cut := err != nil && strings.HasPrefix("HTTP/", string(start)) //nolint:gocritic // argOrder: what came may be the start of HTTP/
			if cut {
				return nil, err
			}
			return nil, &notHTTPError{first: string(start)}
		}
		resp, err := http.ReadResponse(c.br, nil) // its Body stays unused, see body
		if err != nil {
			return nil, c.raw.cause(err)
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
	return nil, errors.New("malformed HTTP response: one interim answer after the other")
}

// interrupt makes what waits on the connection return.
func (c *conn) interrupt() {
	_ = c.nc.SetDeadline(time.Unix(1, 0)) // fails only if it is closed, which does the same
}

func (c *conn) close() error { return c.nc.Close() }

// A stamp is an instant of the run's clock and who took it.
type stamp struct {
	ns     uint64
	source export.StampSource
}

// A stampConn puts the times of a connection's reads and writes, taken by the
// kernel where it does, on the run's clock.
type stampConn struct {
	net.Conn // stamps
	stamps   *sockstamp.Conn
	clock    *rxclock.Clock

	// Of the present request, since begin.
	read  stamp  // of the last read
	reads uint32 // that returned something

	allow   int64 // bytes that may still be read
	readErr error // of the last read
}

const unlimited = 1<<63 - 1

var errHeadTooLong = fmt.Errorf("the head of the answer is longer than %d bytes", maxHeadBytes)

func (c *stampConn) begin() {
	c.readErr = nil
	c.read, c.reads = stamp{}, 0
	c.stamps.Begin()
}

// request returns when the request since begin left: the write with its first
// byte, and its last byte. To be asked when the answer begins, and soon.
func (c *stampConn) request() (start, sent stamp) {
	first, last := c.stamps.Request()
	start, sent = c.onClock(first), c.onClock(last)
	if first.NS <= last.NS {
		sent.ns = max(sent.ns, start.ns) // the clocks may just have been compared anew
	}
	return start, sent
}

func (c *stampConn) onClock(s sockstamp.Stamp) stamp {
	return stamp{c.clock.FromWall(s.NS), export.StampSource(s.Source)}
}

// lastRead returns the stamp and the number of the last read, from 0. TLS may
// hold bytes of a read before begin; then it is now.
func (c *stampConn) lastRead() (s stamp, read uint32) {
	if c.reads == 0 {
		return stamp{c.clock.NowNS(), export.SourceUser}, 0
	}
	return c.read, c.reads - 1
}

func (c *stampConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.readErr = err
	if n == 0 {
		return n, err
	}
	c.read = c.onClock(c.stamps.LastRead())
	c.reads++
	if c.allow -= int64(n); c.allow < 0 && err == nil {
		err = errHeadTooLong
		c.readErr = err
	}
	return n, err
}

// cause returns why a head could not be read: net/http complains about the
// line that was cut, not about what cut it.
func (c *stampConn) cause(err error) error {
	switch {
	case c.readErr == nil:
		return err
	case errors.Is(c.readErr, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return c.readErr
}
