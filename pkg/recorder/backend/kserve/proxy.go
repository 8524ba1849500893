package kserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/pa-tools/pa/internal/httptunnel"
)

// proxy returns the proxy to reach t through, nil if none. Its errors show the
// proxy's host at most.
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
		return nil, fmt.Errorf("proxy %s://%s: gRPC goes through http proxies only; give another, or none", p.Scheme, p.Host)
	}
	return p, nil
}

// A proxyError says that there is no way through the proxy.
type proxyError struct {
	proxy *url.URL
	err   error
}

func (e *proxyError) Error() string {
	return fmt.Sprintf("proxy %s://%s: %v", e.proxy.Scheme, e.proxy.Host, e.err)
}

func (e *proxyError) Unwrap() error { return e.err }

// proxyRefusal is for [http.Transport.OnProxyConnectResponse], which otherwise
// gives the reason alone.
func proxyRefusal(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy, &httptunnel.RefusedError{Code: answer.StatusCode, Status: clip(answer.Status)}}
}

// connectThrough asks the proxy for a connection to host. What it returns is
// stamped, and nothing of what comes behind the proxy's answer has been read.
func (b *Backend) connectThrough(ctx context.Context, host string) (net.Conn, error) {
	addr := b.proxy.Host
	if b.proxy.Port() == "" {
		addr = net.JoinHostPort(b.proxy.Hostname(), "80")
	}
	nc, err := b.dialer().DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, &proxyError{b.proxy, err}
	}
	if err := httptunnel.Connect(ctx, nc, host, b.proxy.User); err != nil {
		_ = nc.Close() // it is of no use
		return nil, &proxyError{b.proxy, err}
	}
	return nc, nil
}

// explainProxy returns an error to connect as one about the proxy that it came
// from, nil where it is about none.
func (b *Backend) explainProxy(err error) error {
	var pe *proxyError
	var op *net.OpError
	switch {
	case b.proxy == nil:
		return nil
	case errors.As(err, &pe) && connectText(pe.err) == "":
		return pe
	case pe == nil && (!errors.As(err, &op) || op.Op != "proxyconnect"): // as net/http has it
		return nil
	}
	return &proxyError{b.proxy, fmt.Errorf("%s; is it right?", connectText(err))}
}
