package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

const proxyPassword = "open-sesame"

// startProxy starts a proxy that knows some hosts and wants a name and password.
func startProxy(t *testing.T, hosts map[string]string) *nettest.Proxy {
	t.Helper()
	return nettest.StartProxy(t, nettest.ProxyConfig{User: url.UserPassword("alice", proxyPassword), Hosts: hosts})
}

// counted counts what a proxy was asked, by method and host.
func counted(all []nettest.Asked) map[string]int {
	n := map[string]int{}
	for _, a := range all {
		n[a.Method+" "+a.Host]++
	}
	return n
}

// Requests go through the proxy of the environment or of --proxy. Standard error and the export
// name the proxy, without its password. The proxy resolves the names of servers.
func TestThroughProxy(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	proxy := startProxy(t, map[string]string{
		"llm.test": strings.TrimPrefix(srv.openAI, "http://"), "http.test:80": strings.TrimPrefix(srv.http, "http://"), "grpc.test:8001": srv.grpc,
	})
	shown := backend.ProxyName(proxy.URL())
	for _, tt := range []struct {
		name, args string
		want       string // what the proxy is asked
		n          int
	}{
		{"OpenAI", "--service-kind openai --streaming -u http://llm.test", "POST llm.test", 4},
		{"Triton HTTP", "-m add_sub -u http.test:80", "POST http.test:80", 4},
		{"Triton gRPC", "-m add_sub -i grpc -u grpc.test", "CONNECT grpc.test:8001", 4}, // a connection of the check, one of the statistics, and two of the load
	} {
		for _, how := range []string{"environment", "flag"} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				proxy.Asked()
				file := filepath.Join(t.TempDir(), "e.json")
				args := append(strings.Fields(tt.args), "--concurrency-range", "2", "--request-count", "4", "--profile-export-file", file, "--quiet")
				env := map[string]string{"HTTP_PROXY": proxy.URL().String()}
				if how == "flag" {
					env = nil
					args = append(args, "--proxy", proxy.URL().String())
				}
				code, _, stderr := inProcessWith(t.Context(), t, env, args...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				if asked := counted(proxy.Asked()); asked[tt.want] != tt.n {
					t.Errorf("the proxy was asked %v, want %d × %s", asked, tt.n, tt.want)
				}
				run, requests := exporttest.Read(t, file)
				checkOK(t, requests, 4)
				checkStamps(t, run)
				through := "requests go through the proxy " + shown
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
		proxy.Asked()
		file := filepath.Join(t.TempDir(), "e.json")
		code, _, stderr := inProcessWith(t.Context(), t, map[string]string{"HTTP_PROXY": proxy.URL().String()}, "-m", "add_sub", "-u", srv.http, "--request-count", "1", "--profile-export-file", file, "--quiet")
		if asked := counted(proxy.Asked()); code != 0 || len(asked) > 0 || strings.Contains(stderr, "proxy") {
			t.Errorf("exit code %d, %s; the proxy was asked %v, want nothing", code, stderr, asked)
		}
	})
}

// A wrong password, or an address that is no proxy, is one line that says what to
// check, without the password.
func TestProxyErrors(t *testing.T) {
	srv := startSim(t)
	proxy := startProxy(t, map[string]string{})
	right := proxy.URL().String()
	wrong := strings.Replace(right, proxyPassword, "not-that-one", 1)
	for _, tt := range []struct{ name, args, want string }{
		{"gRPC, wrong password", "-m x -i grpc -u " + srv.grpc + " --proxy " + wrong, "407 Proxy Authentication Required"},
		{"HTTP, wrong password", "-m x -u " + srv.http + " --proxy " + wrong, "407"},
		{"unknown host", "-m x -i grpc -u " + srv.grpc + " --proxy " + right, "502 Bad Gateway"},
		{"nobody there", "-m x -u " + srv.http + " --proxy 127.0.0.1:1", "proxy http://127.0.0.1:1: connection refused; is the proxy running?"},
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
