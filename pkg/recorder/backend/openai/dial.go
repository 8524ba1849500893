package openai

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
)

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
		addr = addrOf(b.proxy)
	}
	if err := l.openSocket(ctx, addr, sockstamp.Options{User: b.cfg.UserStamps}); err != nil {
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
	if err := l.handshake(ctx, b.cfg.TLS, b.target.name, protocols); err != nil {
		if b.cfg.HTTP2 && isRemote(err, "no application protocol") {
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
	var mu sync.Mutex // the resolver may report after it was given up
	var start, end time.Time
	trace := &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { mu.Lock(); start = time.Now(); mu.Unlock() },
		DNSDone:  func(httptrace.DNSDoneInfo) { mu.Lock(); end = time.Now(); mu.Unlock() },
	}
	nc, err = new(net.Dialer).DialContext(httptrace.WithClientTrace(ctx, trace), "tcp", addr)
	mu.Lock()
	defer mu.Unlock()
	if !start.IsZero() && end.After(start) {
		dns = end.Sub(start)
	}
	return nc, dns, err
}

// handshake puts TLS on the connection.
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
		return fmt.Errorf("TLS: %w", err)
	}
	l.nc, l.protocol = tc, tc.ConnectionState().NegotiatedProtocol
	return nil
}

// viaProxy says that an error is about the way to the proxy, or its own.
func (b *Backend) viaProxy(err error) error {
	if b.proxy == nil {
		return err
	}
	return &proxyError{b.ProxyURL(), err}
}

// A proxyError says that there is no way through the proxy.
type proxyError struct {
	url string // without password
	err error
}

func (e *proxyError) Error() string { return "proxy " + e.url + ": " + e.err.Error() }
func (e *proxyError) Unwrap() error { return e.err }

// addrOf returns the host and port of a proxy.
func addrOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
