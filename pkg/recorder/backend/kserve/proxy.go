package kserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// proxy returns the proxy for t, nil for none. Its errors show at most the proxy's host.
func (c *Config) proxy(t target) (*url.URL, error) {
	if c.Proxy == nil {
		return nil, nil
	}
	to := &url.URL{Scheme: "http", Host: t.host}
	if t.tls {
		to.Scheme = "https"
	}
	p, err := c.Proxy(to)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the proxy for %s: %w", t.host, err)
	case p == nil:
		return nil, nil
	case c.Protocol == GRPC && p.Scheme != "http":
		return nil, fmt.Errorf("proxy %s: gRPC goes through http proxies only; give another, or none", backend.ProxyName(p))
	}
	return p, nil
}

// proxyRefusal is the [http.Transport.OnProxyConnectResponse] that returns the refusal of a
// proxy with its status code.
func proxyRefusal(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &backend.ProxyError{Proxy: proxy, Err: &backend.ProxyRefusedError{Code: answer.StatusCode, Status: clip(answer.Status)}}
}

// connect returns a stamped connection to host, through the proxy if there is one. No
// byte after the proxy's answer has been read.
func (b *Backend) connect(ctx context.Context, host string) (net.Conn, error) {
	if b.proxy == nil {
		return b.dialer().DialContext(ctx, "tcp", host)
	}
	nc, err := b.dialer().DialContext(ctx, "tcp", backend.HostPort(b.proxy))
	if err != nil {
		return nil, &backend.ProxyError{Proxy: b.proxy, Err: err}
	}
	if err := backend.ConnectThrough(ctx, nc, host, b.proxy.User); err != nil {
		_ = nc.Close() // err is the cause
		return nil, &backend.ProxyError{Proxy: b.proxy, Err: err}
	}
	return nc, nil
}

// proxyError returns the proxy's error in err, nil if err has another cause.
func (b *Backend) proxyError(err error) *backend.ProxyError {
	var pe *backend.ProxyError
	var op *net.OpError
	switch {
	case b.proxy == nil:
		return nil
	case errors.As(err, &pe):
		return pe
	case errors.As(err, &op) && op.Op == "proxyconnect": // by net/http
		return &backend.ProxyError{Proxy: b.proxy, Err: op.Err}
	}
	return nil
}
