package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"golang.org/x/net/proxy"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// useProxy sets the proxy for the target.
func (b *Backend) useProxy() error {
	if b.cfg.Proxy == nil {
		return nil
	}
	scheme := "http"
	if b.target.secure {
		scheme = "https"
	}
	u, err := b.cfg.Proxy(&url.URL{Scheme: scheme, Host: b.target.host})
	if err != nil {
		return fmt.Errorf("the proxy's URL cannot be read: %w", withoutURL(err))
	}
	if u == nil {
		return nil
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return fmt.Errorf("proxy %s: scheme %q; use http, https, socks5 or socks5h", backend.ProxyName(u), u.Scheme)
	}
	if u.Hostname() == "" {
		return errors.New("the proxy's URL has no host; write http://host:port")
	}
	b.proxy = u
	if auth := backend.BasicAuthorization(u.User); auth != "" {
		b.secrets.AddHeader("Proxy-Authorization", auth)
	}
	return nil
}

// relays reports whether the proxy forwards each request instead of a tunnel: an HTTP proxy
// in front of a plain HTTP/1 server. A proxy that forwards requests need not forward an upgrade to WebSocket.
func (b *Backend) relays() bool {
	return b.proxy != nil && !b.target.secure && !b.cfg.HTTP2 && b.target.api != render.Realtime && (b.proxy.Scheme == "http" || b.proxy.Scheme == "https")
}

// passProxy turns a connection to the proxy into a connection to the server, unless the
// proxy relays requests.
func (c *dialedConn) passProxy(ctx context.Context, b *Backend) error {
	switch b.proxy.Scheme {
	case "socks5", "socks5h":
		return c.passSOCKS(ctx, b.proxy, b.target.addr)
	case "https":
		cfg := b.cfg.TLS
		if cfg != nil { // its ServerName is the server's
			cfg = cfg.Clone()
			cfg.ServerName = ""
		}
		if err := c.handshake(ctx, cfg, b.proxy.Hostname(), []string{"http/1.1"}); err != nil {
			return err
		}
	}
	if b.relays() {
		return nil
	}
	return backend.ConnectThrough(ctx, c.nc, b.target.addr, b.proxy.User)
}

// passSOCKS makes a SOCKS proxy connect to addr. The proxy resolves the name.
func (c *dialedConn) passSOCKS(ctx context.Context, u *url.URL, addr string) error {
	var auth *proxy.Auth
	if u.User != nil {
		password, _ := u.User.Password()
		auth = &proxy.Auth{User: u.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", backend.HostPort(u), auth, connected{c.nc})
	if err != nil {
		return err
	}
	// DialContext returns c.nc as another type: SOCKS reads only its own answers.
	_, err = d.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
	return err
}

// connected is a dialer that returns an existing connection.
type connected struct{ nc net.Conn }

func (c connected) Dial(string, string) (net.Conn, error) { return c.nc, nil }

func (c connected) DialContext(context.Context, string, string) (net.Conn, error) { return c.nc, nil }
