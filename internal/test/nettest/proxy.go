package nettest

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// ProxyConfig describes a proxy.
type ProxyConfig struct {
	// TLS says that the proxy itself is spoken to over TLS.
	TLS bool
	// User is who may ask, nil for anybody.
	User *url.Userinfo
	// Hosts maps the servers that the proxy knows, as host or host:port in requests, to
	// their addresses; nil means that each name is its address.
	Hosts map[string]string
}

// A Proxy relays requests and opens tunnels. Use [StartProxy].
type Proxy struct {
	c       ProxyConfig
	server  *httptest.Server
	tunnels sync.WaitGroup

	mu     sync.Mutex
	closed bool
	asked  []Asked
}

// Asked is a request to a proxy.
type Asked struct {
	Method string
	Target string // as on the request's first line: a URL, or host:port
	Host   string // of the server
}

// StartProxy starts a proxy, which ends with the test. The tunnels through it must
// have been given up by then.
func StartProxy(t testing.TB, c ProxyConfig) *Proxy {
	t.Helper()
	p := &Proxy{c: c}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if c.TLS {
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	t.Cleanup(func() {
		p.server.Close()
		p.mu.Lock()
		p.closed = true // a handler may still be about to open a tunnel
		p.mu.Unlock()
		p.tunnels.Wait()
	})
	return p
}

// URL returns the proxy's URL, with name and password.
func (p *Proxy) URL() *url.URL {
	u, err := url.Parse(p.server.URL)
	if err != nil {
		panic(err) // httptest wrote it
	}
	u.User = p.c.User
	return u
}

// Certificate returns the certificate of a proxy with TLS.
func (p *Proxy) Certificate() *x509.Certificate { return p.server.Certificate() }

// Asked returns the requests to the proxy since the last call.
func (p *Proxy) Asked() []Asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// wanted returns the Proxy-Authorization that the proxy asks for; "" if anybody may ask.
func (p *Proxy) wanted() string {
	if p.c.User == nil {
		return ""
	}
	password, _ := p.c.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.c.User.Username()+":"+password))
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, Asked{r.Method, r.RequestURI, r.Host})
	p.mu.Unlock()
	if r.Header.Get("Proxy-Authorization") != p.wanted() {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	addr := r.Host
	if p.c.Hosts != nil {
		addr = p.c.Hosts[r.Host]
	}
	switch {
	case addr == "":
		w.WriteHeader(http.StatusBadGateway)
	case r.Method == http.MethodConnect:
		p.tunnel(w, addr)
	default:
		Relay(&url.URL{Scheme: "http", Host: addr}).ServeHTTP(w, r)
	}
}

// tunnel connects who asks with addr.
func (p *Proxy) tunnel(w http.ResponseWriter, addr string) {
	up, err := net.Dial("tcp", addr)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	down, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		up.Close()
		return
	}
	_, _ = io.WriteString(down, "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		up.Close()
		down.Close()
		return
	}
	p.tunnels.Go(func() { Splice(up, down) })
}

// Splice passes bytes on in both directions until either side closes, and then
// closes both.
func Splice(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			a.Close()
			b.Close()
		})
	}
	wg.Wait()
}

// Relay returns a handler that asks another server.
func Relay(to *url.URL) http.Handler {
	relay := httputil.NewSingleHostReverseProxy(to)
	relay.FlushInterval = -1
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The whole body first: a quick answer makes the library's relay fail that
		// still reads it.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		relay.ServeHTTP(w, r)
	})
}
