package openai

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// http2Transmit is the number of transmit stamps that a connection of HTTP/2 keeps. A
// prompt of 10 MB has 640 frames of two TLS records each, and the answer to its head may
// come after them.
const http2Transmit = 1280

// A dialedConn is a connection to the server, with the duration of each step of making it.
type dialedConn struct {
	nc  net.Conn        // carries HTTP: raw, or TLS over it
	raw *sockstamp.Conn // the socket

	dns     time.Duration
	connect time.Duration // includes the connection through a proxy
	tls     time.Duration // handshake with the server

	protocol string // negotiated by TLS
}

// dial connects to the server, through the proxy if there is one. protocols are offered to
// TLS. The error is a *dialError.
func (b *Backend) dial(ctx context.Context, protocols ...string) (*dialedConn, error) {
	c := &dialedConn{}
	if err := c.open(ctx, b, protocols); err != nil {
		if c.nc != nil {
			_ = c.nc.Close() // err is the cause
		}
		return nil, &dialError{err}
	}
	return c, nil
}

func (c *dialedConn) open(ctx context.Context, b *Backend, protocols []string) error {
	addr := b.target.addr
	if b.proxy != nil {
		addr = backend.HostPort(b.proxy)
	}
	options := sockstamp.Options{User: b.cfg.UserStamps}
	if b.cfg.HTTP2 {
		options.KeepTransmit = http2Transmit
	}
	if err := c.openSocket(ctx, b.cfg.Sources, addr, options); err != nil {
		return b.viaProxy(err)
	}
	if b.proxy != nil {
		begin := time.Now()
		if err := c.passProxy(ctx, b); err != nil {
			return b.viaProxy(err)
		}
		c.connect += time.Since(begin)
	}
	if !b.target.secure {
		return nil
	}
	begin := time.Now()
	if b.checking {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.handshakeTimeout)
		defer cancel()
	}
	if err := c.handshake(ctx, b.cfg.TLS, b.target.name, protocols); err != nil {
		if b.cfg.HTTP2 && backend.IsAlert(err, "no application protocol") {
			return errNoHTTP2
		}
		return err
	}
	c.tls = time.Since(begin)
	return nil
}

// openSocket connects to addr, a name or an address with a port.
func (c *dialedConn) openSocket(ctx context.Context, from *backend.Sources, addr string, options sockstamp.Options) error {
	begin := time.Now()
	nc, dns, err := dialTCP(ctx, from, addr)
	if err != nil {
		return err
	}
	c.nc = nc
	if c.raw, err = options.Wrap(nc); err != nil {
		return err
	}
	c.nc = c.raw
	c.dns, c.connect = dns, time.Since(begin)-dns
	return nil
}

// dialTCP connects to addr from one of the sources. dns is the duration of the name's lookup.
func dialTCP(ctx context.Context, from *backend.Sources, addr string) (nc net.Conn, dns time.Duration, err error) {
	dialing, took := backend.TraceLookup(ctx)
	d := from.Dialer()
	nc, err = d.DialContext(dialing, "tcp", addr)
	return nc, took(), err
}

// A handshakeError reports that TLS failed on a connection.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// handshake starts TLS on the connection. The error is a *handshakeError.
func (c *dialedConn) handshake(ctx context.Context, cfg *tls.Config, name string, protocols []string) error {
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	} else {
		cfg = cfg.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = name
	}
	cfg.NextProtos = protocols
	tc := tls.Client(c.nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return &handshakeError{err}
	}
	c.nc, c.protocol = tc, tc.ConnectionState().NegotiatedProtocol
	return nil
}

// viaProxy wraps err in a *backend.ProxyError if there is a proxy.
func (b *Backend) viaProxy(err error) error {
	if b.proxy == nil {
		return err
	}
	return &backend.ProxyError{Proxy: b.proxy, Err: err}
}
