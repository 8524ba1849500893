package kserve

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

const proxyPassword = "open-sesame"

func startProxy(t *testing.T) *nettest.Proxy {
	t.Helper()
	return nettest.StartProxy(t, nettest.ProxyConfig{User: url.UserPassword("alice", proxyPassword)})
}

// through is a Config.Proxy that is always p.
func through(p *url.URL) func(*url.URL) (*url.URL, error) {
	return func(*url.URL) (*url.URL, error) { return p, nil }
}

// Over every protocol requests go through the proxy, with the kernel's stamps.
func TestProxy(t *testing.T) {
	defer sockstamp.Hold()()
	answer := func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	}
	plain, secure := startFake(t, answer), startFakeTLS(t, answer)
	want := export.SourceUser
	if nettest.KernelStamps(t) {
		want = export.SourceKernel
	}
	proxy := startProxy(t)
	for _, tt := range []struct {
		name   string
		f      *fakeTriton
		c      Config
		method string
	}{
		{"HTTP", plain, Config{Protocol: HTTP, Model: "adder"}, "POST"},
		{"HTTPS", secure, Config{Protocol: HTTP, Model: "adder"}, "CONNECT"},
		{"gRPC stream", plain, Config{Protocol: GRPC, Model: "llm", Streaming: true}, "CONNECT"},
		{"gRPC stream over TLS", secure, Config{Protocol: GRPC, Model: "llm", Streaming: true}, "CONNECT"},
		{"gRPC unary", plain, Config{Protocol: GRPC, Model: "adder"}, "CONNECT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Proxy = through(proxy.URL())
			tt.c.Reuse = backend.Fresh
			b := tt.f.open(t, tt.c)
			proxy.Asked()
			m, host := adder, tt.f.httpAddr
			if tt.c.Model == "llm" {
				m = llm
			}
			if tt.c.Protocol == GRPC {
				host = tt.f.grpcAddr
			}
			x := exchange(t.Context(), t, b, openSlot(t, b, 0), prepare(t, b, validEntry(m)), 1)
			r := &x.Request
			if r.Status != export.StatusOK || r.Connect == 0 || r.StartSource != want || r.Responses[0].Source != want {
				t.Errorf("%s, connect %v, start by %v, response by %v", show(x), r.Connect, r.StartSource, r.Responses[0].Source)
			}
			if asked := proxy.Asked(); len(asked) != 1 || asked[0].Method != tt.method || asked[0].Host != host {
				t.Errorf("the proxy was asked %v, want %s %s", asked, tt.method, host)
			}
		})
	}
}

// startSaying accepts connections on loopback, reads a request's head, says
// something, whatever it was, and closes.
func startSaying(t *testing.T, answer string) (addr string) {
	t.Helper()
	return nettest.StartServer(t, func(nc net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(nc))
		_, _ = io.WriteString(nc, answer)
	})
}

func TestProxyErrors(t *testing.T) {
	f, secure := startFake(t, nil), startFakeTLS(t, nil)
	proxy := startProxy(t)
	wrong := proxy.URL()
	wrong.User = url.UserPassword("alice", "not-that-one")
	closed := nettest.Listen(t)
	gone := &url.URL{Scheme: "http", Host: closed.Addr().String()}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	says := func(answer string) *url.URL { return &url.URL{Scheme: "http", Host: startSaying(t, answer)} }
	for _, tt := range []struct {
		name string
		f    *fakeTriton
		p    Protocol
		url  *url.URL
		want string
	}{
		{"gRPC, wrong password", f, GRPC, wrong, "it answers CONNECT with 407 Proxy Authentication Required; give its name and password as http://name:password@host:port"},
		{"HTTPS, wrong password", secure, HTTP, wrong, "it answers CONNECT with 407 Proxy Authentication Required; give its name and password as http://name:password@host:port"},
		{"gRPC, nobody there", f, GRPC, gone, "connection refused; is the proxy running?"},
		{"HTTP, nobody there", f, HTTP, gone, "connection refused; is the proxy running?"},
		{"HTTPS, nobody there", secure, HTTP, gone, "connection refused; is the proxy running?"},
		{"gRPC, no proxy", f, GRPC, says("SSH-2.0-x\r\n\r\n"), "its answer to CONNECT is not HTTP"},
		{"gRPC, no answer", f, GRPC, says(""), "no answer to CONNECT: EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := tt.f.httpAddr
			if tt.p == GRPC {
				addr = tt.f.grpcAddr
			}
			b, err := New(Config{URL: addr, Protocol: tt.p, Model: "adder", TLS: tt.f.tls, Proxy: through(tt.url)})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			err = b.Check(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			if want := addr + ": proxy http://" + tt.url.Host + ": " + tt.want; err.Error() != want {
				t.Errorf("\ngot  %v\nwant %s", err, want)
			}
		})
	}
	_, err := New(Config{URL: f.grpcAddr, Protocol: GRPC, Model: "m", Proxy: through(&url.URL{Scheme: "socks5", Host: "p:1"})})
	if err == nil || !strings.Contains(err.Error(), "proxy socks5://p:1: gRPC goes through http proxies only") {
		t.Errorf("socks5: %v", err)
	}
}
