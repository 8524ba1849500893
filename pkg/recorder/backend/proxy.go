package backend

import (
	"net"
	"net/url"
)

// A ProxyError reports that connecting through a proxy failed. Its text has no user name
// and password.
type ProxyError struct {
	Proxy *url.URL
	Err   error
}

func (e *ProxyError) Error() string { return "proxy " + ProxyName(e.Proxy) + ": " + e.Err.Error() }
func (e *ProxyError) Unwrap() error { return e.Err }

// ProxyName returns a proxy's URL without user name and password.
func ProxyName(u *url.URL) string { return u.Scheme + "://" + u.Host }

// HostPort returns the host and port of a server or proxy, with the default port of the
// URL's scheme.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
