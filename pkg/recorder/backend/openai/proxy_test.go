package openai

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
)

// serveSOCKS runs a SOCKS5 proxy that wants the name and password given, or
// none. seen returns what it was asked for since the last call.
func serveSOCKS(t *testing.T, user, password string) (addr string, seen func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	addr = nettest.StartServer(t, func(c net.Conn) {
		target, err := socksHandshake(c, user, password)
		if err != nil {
			return
		}
		mu.Lock()
		asked = append(asked, target)
		mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0}) // refused
			return
		}
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		nettest.Splice(c, server)
	})
	return addr, func() []string {
		mu.Lock()
		defer mu.Unlock()
		since := asked
		asked = nil
		return since
	}
}

// socksHandshake reads what a SOCKS5 client says (RFC 1928, 1929).
func socksHandshake(c net.Conn, user, password string) (target string, err error) {
	br := bufio.NewReader(c)
	take := func(n int) []byte {
		b := make([]byte, n)
		if _, e := io.ReadFull(br, b); e != nil && err == nil {
			err = e
		}
		return b
	}
	methods := take(int(take(2)[1]))
	if user == "" {
		_, _ = c.Write([]byte{5, 0})
	} else {
		if !strings.Contains(string(methods), "\x02") {
			_, _ = c.Write([]byte{5, 0xff})
			return "", errors.New("no method")
		}
		_, _ = c.Write([]byte{5, 2})
		name := take(int(take(2)[1]))
		pass := take(int(take(1)[0]))
		if string(name) != user || string(pass) != password {
			_, _ = c.Write([]byte{1, 1})
			return "", errors.New("wrong password")
		}
		_, _ = c.Write([]byte{1, 0})
	}
	var host string
	switch head := take(4); head[3] {
	case 1:
		host = net.IP(take(4)).String()
	case 3:
		host = string(take(int(take(1)[0])))
	default:
		return "", errors.New("address type")
	}
	port := binary.BigEndian.Uint16(take(2))
	return net.JoinHostPort(host, fmt.Sprint(port)), err
}

// fixed is a Config.Proxy that always has the same answer.
func fixed(rawURL string) func(*url.URL) (*url.URL, error) {
	return func(*url.URL) (*url.URL, error) { return url.Parse(rawURL) }
}

// streamHandler answers with chat.
func streamHandler(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range chat {
		fmt.Fprint(w, e)
		_ = http.NewResponseController(w).Flush()
	}
}

// Through each kind of proxy a stream comes whole, on a connection that is
// kept; the proxy is asked in the way that it needs.
func TestProxy(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(streamHandler))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(streamHandler))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	relay, tunnels := nettest.StartProxy(t, nettest.ProxyConfig{}), nettest.StartProxy(t, nettest.ProxyConfig{TLS: true})
	locked := nettest.StartProxy(t, nettest.ProxyConfig{User: url.UserPassword("bob", "proxy-secret")})
	socks, socksSeen := serveSOCKS(t, "", "")
	socksAuth, socksAuthSeen := serveSOCKS(t, "bob", "proxy-secret")
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	pool.AddCert(tunnels.Certificate())
	host := func(rawURL string) string { return rawURL[strings.Index(rawURL, "//")+2:] }
	seenBy := func(p *nettest.Proxy) func() []string {
		return func() (all []string) {
			for _, a := range p.Asked() {
				all = append(all, a.Method+" "+a.Target)
			}
			return all
		}
	}
	for _, tt := range []struct {
		name, url, proxy string
		http2            bool
		seen             func() []string
		want             string // of what the proxy sees for each connection or request
		each             bool   // it sees each request
	}{
		{"HTTP, plain server", plain.URL, relay.URL().String(), false, seenBy(relay), "POST " + plain.URL + "/v1/chat/completions", true},
		{"HTTP, TLS", secure.URL, relay.URL().String(), false, seenBy(relay), "CONNECT " + host(secure.URL), false},
		{"HTTPS, TLS", secure.URL, tunnels.URL().String(), false, seenBy(tunnels), "CONNECT " + host(secure.URL), false},
		{"HTTPS, plain server", plain.URL, tunnels.URL().String(), false, seenBy(tunnels), "POST " + plain.URL + "/v1/chat/completions", true},
		{"HTTP, password", plain.URL, locked.URL().String(), false, seenBy(locked), "POST " + plain.URL + "/v1/chat/completions", true},
		{"HTTP, TLS, password", secure.URL, locked.URL().String(), false, seenBy(locked), "CONNECT " + host(secure.URL), false},
		{"HTTP, TLS, HTTP/2", secure.URL, relay.URL().String(), true, seenBy(relay), "CONNECT " + host(secure.URL), false},
		{"SOCKS", plain.URL, "socks5://" + socks, false, socksSeen, host(plain.URL), false},
		{"SOCKS, TLS", secure.URL, "socks5h://" + socks, false, socksSeen, host(secure.URL), false},
		{"SOCKS, password", plain.URL, "socks5://bob:proxy-secret@" + socksAuth, false, socksAuthSeen, host(plain.URL), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.seen()
			b := newBackend(t, Config{URL: tt.url, Proxy: fixed(tt.proxy), TLS: &tls.Config{RootCAs: pool}, HTTP2: tt.http2})
			s := open(t, b)
			for i := range 2 {
				x := exchange(t.Context(), t, b, s, `{}`)
				r := &x.Request
				if r.Status != export.StatusOK || joined(x) != strings.Join(chat, "") || r.Reused != (i == 1) {
					t.Fatalf("exchange %d: %v, %q, Reused = %v, %q", i, r.Status, r.Message, r.Reused, joined(x))
				}
				if i == 0 && (r.Connect == 0 || (r.TLS > 0) != strings.HasPrefix(tt.url, "https")) {
					t.Errorf("Connect %v, TLS %v", r.Connect, r.TLS)
				}
			}
			want := []string{tt.want}
			if tt.each {
				want = append(want, tt.want)
			}
			if got := tt.seen(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the proxy saw %q, want %q", got, want)
			}
		})
	}
}

// Why there is no way through a proxy; never with its password.
func TestProxyErrors(t *testing.T) {
	gone := nettest.Listen(t)
	gone.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(streamHandler))
	defer secure.Close()
	denying := nettest.StartProxy(t, nettest.ProxyConfig{User: url.UserPassword("bob", "right")})
	socks, _ := serveSOCKS(t, "bob", "right")
	mute := serveRaw(t, func(net.Conn, int, []byte) bool { return false })
	with := func(addr string) string { return "http://bob:proxy-secret@" + addr }
	denied := denying.URL().Host
	for _, tt := range []struct{ name, proxy, want string }{
		{"nobody there", with(gone.Addr().String()), "proxy http://" + gone.Addr().String() + ": connection refused; is the proxy running?"},
		{"denied", with(denied), "proxy http://" + denied + ": it answers CONNECT with 407 Proxy Authentication Required; give its name and password as http://name:password@host:port"},
		{"mute", with(mute), "proxy http://" + mute + ": no answer to CONNECT: EOF"},
		{"SOCKS, wrong password", "socks5://bob:proxy-secret@" + socks, "proxy socks5://" + socks + ": username/password authentication failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t, Config{URL: secure.URL, Proxy: fixed(tt.proxy)})
			x := exchange(t.Context(), t, b, open(t, b), `{}`)
			want := secure.URL + "/v1/chat/completions: " + tt.want
			if r := &x.Request; r.Status != export.StatusConnectError || r.Message != want {
				t.Errorf("%v, %q, want %q", r.Status, r.Message, want)
			}
		})
	}
	t.Run("a plain request is denied", func(t *testing.T) {
		b := newBackend(t, Config{URL: "http://127.0.0.1:9", Proxy: fixed(with(denied))})
		if r := &exchange(t.Context(), t, b, open(t, b), `{}`).Request; r.Status != export.StatusHTTPError || r.Code != 407 {
			t.Errorf("%v, %d, %q", r.Status, r.Code, r.Message)
		}
	})
	for _, tt := range []struct {
		name  string
		proxy func(*url.URL) (*url.URL, error)
		want  string
	}{
		{"scheme", fixed("ftp://bob:secret@p:1"), `proxy ftp://p:1: scheme "ftp"; use http, https, socks5 or socks5h`},
		{"no host", fixed("http://"), "the proxy's URL has no host; write http://host:port"},
		{"unreadable", fixed("http://bob:secret@p:x"), "the proxy's URL cannot be read: invalid port"},
	} {
		if _, err := New(Config{URL: "h", Proxy: tt.proxy}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: New = %v, want %s", tt.name, err, tt.want)
		}
	}
	b := newBackend(t, Config{URL: "https://h:1", Proxy: func(u *url.URL) (*url.URL, error) {
		if u.String() != "https://h:1" {
			t.Errorf("asked for %v", u)
		}
		return nil, nil
	}})
	if b.proxy != nil {
		t.Errorf("the proxy is %v, want none", b.proxy)
	}
}
