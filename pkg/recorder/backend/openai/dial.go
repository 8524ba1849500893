package openai

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// http2Transmit is how many transmit stamps a connection of HTTP/2 keeps: a prompt
// of 10 MB is half as many frames, each of them two records of TLS, and the answer
// to its head may come behind them.
const http2Transmit = 1280

// A link is a connection to the server, with how long it took to make.
type link struct {
	nc  net.Conn        // what HTTP goes over: raw, or TLS
	raw *sockstamp.Conn // the socket

	dns     time.Duration
	connect time.Duration // that of a proxy included
	tls     time.Duration // the handshake with the server

	protocol string // that TLS agreed on
}

// dial connects to the server, through the proxy if there is one. protocols are
// those that TLS offers. The error is a *dialError.
func (b *Backend) dial(ctx context.Context, protocols ...string) (*link, error) {
	l := &link{}
	if err := l.open(ctx, b, protocols); err != nil {
		if l.nc != nil {
			_ = l.nc.Close() // what it says adds nothing to why
		}
		return nil, &dialError{err}
	}
	return l, nil
}

func (l *link) open(ctx context.Context, b *Backend, protocols []string) error {
	addr := b.target.addr
	if b.proxy != nil {
		addr = backend.ProxyAddr(b.proxy)
	}
	options := sockstamp.Options{User: b.cfg.UserStamps}
	if b.cfg.HTTP2 {
		options.KeepTransmit = http2Transmit
	}
	if err := l.openSocket(ctx, addr, options); err != nil {
		return b.viaProxy(err)
	}
	if b.proxy != nil {
		begin := time.Now()
		if err := l.passProxy(ctx, b); err != nil {
			return b.viaProxy(err)
		}
		l.connect += time.Since(begin)
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
	if err := l.handshake(ctx, b.cfg.TLS, b.target.name, protocols); err != nil {
		if b.cfg.HTTP2 && backend.IsAlert(err, "no application protocol") {
			return errNoHTTP2
		}
		return err
	}
	l.tls = time.Since(begin)
	return nil
}

// openSocket connects to addr, a name or an address with a port.
func (l *link) openSocket(ctx context.Context, addr string, options sockstamp.Options) error {
	begin := time.Now()
	nc, dns, err := dialTCP(ctx, addr)
	if err != nil {
		return err
	}
	l.nc = nc
	if l.raw, err = options.Wrap(nc); err != nil {
		return err
	}
	l.nc = l.raw
	l.dns, l.connect = dns, time.Since(begin)-dns
	return nil
}

// dialTCP connects to addr. dns is how long it took to look up its name.
func dialTCP(ctx context.Context, addr string) (nc net.Conn, dns time.Duration, err error) {
	dialing, took := backend.TraceLookup(ctx)
	nc, err = new(net.Dialer).DialContext(dialing, "tcp", addr)
	return nc, took(), err
}

// A handshakeError says that a connection came about and TLS on it did not.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// handshake puts TLS on the connection. The error is a *handshakeError.
func (l *link) handshake(ctx context.Context, cfg *tls.Config, name string, protocols []string) error {
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	} else {
		cfg = cfg.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = name
	}
	cfg.NextProtos = protocols
	tc := tls.Client(l.nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return &handshakeError{err}
	}
	l.nc, l.protocol = tc, tc.ConnectionState().NegotiatedProtocol
	return nil
}

// viaProxy says that an error is about the way to the proxy, or its own.
func (b *Backend) viaProxy(err error) error {
	if b.proxy == nil {
		return err
	}
	return &backend.ProxyError{Proxy: b.proxy, Err: err}
}
