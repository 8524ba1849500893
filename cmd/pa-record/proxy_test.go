package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A testProxy is an HTTP proxy on loopback that knows some hosts, and wants a
// name and password.
type testProxy struct {
	url     string            // with name and password
	shown   string            // without
	hosts   map[string]string // where they are
	tunnels sync.WaitGroup

	mu     sync.Mutex
	closed bool
	seen   map[string]int // requests by method and host
}

const proxyPassword = "open-sesame"

func startProxy(t *testing.T, hosts map[string]string) *testProxy {
	t.Helper()
	p := &testProxy{hosts: hosts, seen: map[string]int{}}
	h := httptest.NewServer(p)
	t.Cleanup(func() {
		h.Close()
		p.mu.Lock()
		p.closed = true // a handler may still be about to open a tunnel
		p.mu.Unlock()
		p.tunnels.Wait()
	})
	p.shown = h.URL
	p.url = strings.Replace(h.URL, "://", "://alice:"+proxyPassword+"@", 1)
	return p
}

func (p *testProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen[r.Method+" "+r.Host]++
	p.mu.Unlock()
	want := &http.Request{Header: http.Header{}}
	want.SetBasicAuth("alice", proxyPassword)
	if r.Header.Get("Proxy-Authorization") != want.Header.Get("Authorization") {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	addr, ok := p.hosts[r.Host]
	if !ok {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if r.Method != http.MethodConnect {
		relayTo(&url.URL{Scheme: "http", Host: addr}).ServeHTTP(w, r)
		return
	}
	up, err := net.Dial("tcp", addr)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	down, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = up.Close()
		return
	}
	_, _ = io.WriteString(down, "HTTP/1.1 200 Connection established\r\n\r\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_, _ = up.Close(), down.Close()
		return
	}
	for _, pair := range [][2]net.Conn{{up, down}, {down, up}} {
		p.tunnels.Go(func() { // ends when either side closes
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
		})
	}
}

// relayTo returns a handler that asks another server.
func relayTo(u *url.URL) http.Handler {
	relay := httputil.NewSingleHostReverseProxy(u)
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

// asked returns how often the proxy was asked what since the last call.
func (p *testProxy) asked() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = map[string]int{}
	return seen
}

// Requests go through the proxy of the environment or of --proxy, which is said
// on standard error and in the export, without its password; the names of
// servers are the proxy's to resolve.
func TestThroughProxy(t *testing.T) {
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	proxy := startProxy(t, map[string]string{
		"llm.test": strings.TrimPrefix(srv.openAI, "http://"), "http.test": strings.TrimPrefix(srv.http, "http://"), "grpc.test:8001": srv.grpc,
	})
	for _, tt := range []struct {
		name, args string
		want       string // what the proxy is asked
		n          int
	}{
		{"OpenAI", "--service-kind openai --streaming -u http://llm.test", "POST llm.test", 4},
		{"Triton HTTP", "-m add_sub -u http.test:80", "POST http.test:80", 4},
		{"Triton gRPC", "-m add_sub -i grpc -u grpc.test", "CONNECT grpc.test:8001", 3}, // the check's, and two
	} {
		for _, how := range []string{"environment", "flag"} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				proxy.hosts["http.test:80"] = proxy.hosts["http.test"]
				proxy.asked()
				file := filepath.Join(t.TempDir(), "e.json")
				args := append(strings.Fields(tt.args), "--concurrency-range", "2", "--request-count", "4", "--profile-export-file", file, "--quiet")
				env := map[string]string{"HTTP_PROXY": proxy.url}
				if how == "flag" {
					env = nil
					args = append(args, "--proxy", proxy.url)
				}
				code, _, stderr := inProcessWith(t.Context(), t, env, args...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				if asked := proxy.asked(); asked[tt.want] != tt.n {
					t.Errorf("the proxy was asked %v, want %d × %s", asked, tt.n, tt.want)
				}
				run, requests := readExport(t, file)
				checkOK(t, requests, 4)
				checkStamps(t, run)
				through := "requests go through the proxy " + proxy.shown
				if !strings.Contains(stderr, "warning: "+through) || !slices.ContainsFunc(run.Meta.Warnings, func(w string) bool { return strings.HasPrefix(w, through) }) {
					t.Errorf("standard error %q, warnings %q; want %q", stderr, run.Meta.Warnings, through)
				}
				text, err := os.ReadFile(file)
				if err != nil || strings.Contains(string(text)+stderr, proxyPassword) {
					t.Errorf("the proxy's password is in the export or on standard error (%v)", err)
				}
			})
		}
	}
	t.Run("none", func(t *testing.T) {
		s, err := parse(t, "", "-m", "x", "-u", "http://llm.test", "--proxy", "none")
		if err != nil || s.proxy != nil || len(s.Proxies)+len(s.warnings) > 0 {
			t.Errorf("%v, %q, %q", err, s.Proxies, s.warnings)
		}
	})
	t.Run("loopback", func(t *testing.T) {
		proxy.asked()
		file := filepath.Join(t.TempDir(), "e.json")
		code, _, stderr := inProcessWith(t.Context(), t, map[string]string{"HTTP_PROXY": proxy.url}, "-m", "add_sub", "-u", srv.http, "--request-count", "1", "--profile-export-file", file, "--quiet")
		if asked := proxy.asked(); code != 0 || len(asked) > 0 || strings.Contains(stderr, "proxy") {
			t.Errorf("exit code %d, %s; the proxy was asked %v, want nothing", code, stderr, asked)
		}
	})
}

// A wrong password, or a proxy that is none, is one line that says what to
// check, without the password.
func TestProxyErrors(t *testing.T) {
	srv := startSim(t)
	proxy := startProxy(t, nil)
	wrong := strings.Replace(proxy.url, proxyPassword, "not-that-one", 1)
	for _, tt := range []struct{ name, args, want string }{
		{"gRPC, wrong password", "-m x -i grpc -u " + srv.grpc + " --proxy " + wrong, "407 Proxy Authentication Required"},
		{"HTTP, wrong password", "-m x -u " + srv.http + " --proxy " + wrong, "407"},
		{"unknown host", "-m x -i grpc -u " + srv.grpc + " --proxy " + proxy.url, "502 Bad Gateway"},
		{"nobody there", "-m x -u " + srv.http + " --proxy 127.0.0.1:1", "proxy http://127.0.0.1:1: connection refused; is it right?"},
		{"gRPC through SOCKS", "-m x -i grpc --proxy socks5://p:1", "proxy socks5://p:1: gRPC goes through http:// proxies only; give another, or --proxy none"},
		{"no URL", "-m x --proxy http://", "--proxy: cannot be read; expected http://host:port or none"},
		{"scheme", "-m x --proxy ftp://p:1", `--proxy: scheme "ftp"; use http, https or socks5`},
		{"simulated", "-u sim:// --proxy p:1", "--proxy: a simulated server in this process is not reached through a proxy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append(strings.Fields(tt.args), "--request-count", "1", "--profile-export-file", filepath.Join(t.TempDir(), "e.json"), "--quiet")
			code, _, stderr := inProcess(t.Context(), t, args...)
			if code == 0 || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "not-that-one") {
				t.Errorf("exit code %d: %s; want %q", code, stderr, tt.want)
			}
		})
	}
}
