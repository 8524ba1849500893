package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// A relay passes connections on to a server and notes where they came from.
type relay struct {
	listener net.Listener
	to       string
	passing  sync.WaitGroup

	mu   sync.Mutex     // guards from
	from map[string]int // number of connections by address
}

// startRelay starts a relay to a URL of a server, which ends with the test.
func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	l := nettest.Listen(t)
	r := &relay{listener: l, to: addressOf(to), from: map[string]int{}}
	r.passing.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.passing.Wait() // the clients have closed their connections
	})
	return r
}

func (r *relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		host, _, _ := net.SplitHostPort(in.RemoteAddr().String())
		r.mu.Lock()
		r.from[host]++
		r.mu.Unlock()
		out, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		pass := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		}
		r.passing.Go(func() { pass(out, in) })
		r.passing.Go(func() { pass(in, out) })
	}
}

// take returns the number of connections from each address and forgets them.
func (r *relay) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.from
	r.from = map[string]int{}
	return taken
}

// With --source-ip each protocol and transport connects from the addresses in turn, to
// each of two servers.
func TestSourceIPs(t *testing.T) {
	t.Parallel()
	const requests = 24 // half of them to each server
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	sources := []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.77"}
	ways := services(t, srv)
	openAI := ways["OpenAI"]
	delete(ways, "OpenAI")
	for _, transport := range []string{"loop", "nethttp"} {
		ways["OpenAI, "+transport] = append(slices.Clone(openAI), "--transport", transport)
	}
	for way, name := range slices.Sorted(maps.Keys(ways)) {
		for mode, tt := range []struct {
			reuse string
			least int // number of connections to each server
		}{{"reuse", 4}, {"prewarm", 12}, {"fresh", requests / 2}} {
			if (way+mode+1)%testenv.Stride(3) > 0 {
				continue // make test takes one mode for each protocol and transport, in turn
			}
			t.Run(name+", "+tt.reuse, func(t *testing.T) {
				args := slices.Clone(ways[name])
				at := slices.Index(args, "-u") + 1
				servers := []*relay{startRelay(t, args[at]), startRelay(t, args[at])}
				args[at] = servers[0].listener.Addr().String() + "," + servers[1].listener.Addr().String()
				file := filepath.Join(t.TempDir(), "e.json")
				args = append(args, "--connection-reuse", tt.reuse, "--concurrency-range", "12", "--request-count", strconv.Itoa(requests), "--profile-export-file", file, "--quiet")
				for _, ip := range sources {
					args = append(args, "--source-ip", ip)
				}
				if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				_, all := exporttest.Read(t, file)
				checkOK(t, all, requests)
				for i, server := range servers {
					from := server.take()
					total := 0
					var counts []int
					for _, ip := range sources {
						counts = append(counts, from[ip])
						total += from[ip]
						delete(from, ip)
					}
					if len(from) > 0 {
						t.Errorf("server %d: connections from %v, which were not named", i, from)
					}
					if slices.Max(counts)-slices.Min(counts) > 1 || total < tt.least {
						t.Errorf("server %d: %v connections from %s; want at least %d, the same number from each", i, counts, strings.Join(sources, ", "), tt.least)
					}
				}
			})
		}
	}
}

// An IPv6 source address cannot reach an IPv4 server, and pa-record says why.
func TestSourceIPOfOtherKind(t *testing.T) {
	if err := backend.CheckSources([]netip.Addr{netip.IPv6Loopback()}); err != nil {
		testenv.Lacks(t, "IPv6: %v", err)
	}
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-m", "m", "-u", "127.0.0.1:1", "--request-count", "1",
		"--source-ip", "::1", "--profile-export-file", filepath.Join(t.TempDir(), "e.json"))
	if want := "no way from the source address [::1]:0: the server has no address of its kind"; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %q; want 1, %q", code, stderr, want)
	}
}

// A source address that no interface has ends the command before the server hears of it.
func TestSourceIPOfAnotherMachine(t *testing.T) {
	l := nettest.Listen(t)
	defer l.Close()
	heard := make(chan string, 1)
	go func() { // ends with the listener
		if c, err := l.Accept(); err == nil {
			heard <- fmt.Sprint(c.RemoteAddr())
			_ = c.Close()
		}
		close(heard)
	}()
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-m", "m", "-u", l.Addr().String(), "--request-count", "1",
		"--source-ip", "127.0.0.2", "--source-ip", "192.0.2.1", "--profile-export-file", filepath.Join(t.TempDir(), "e.json"))
	if want := "--source-ip: 192.0.2.1 is not an address of this machine"; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %q; want 1, %q", code, stderr, want)
	}
	_ = l.Close()
	if from, ok := <-heard; ok {
		t.Errorf("the server got a connection from %s", from)
	}
}
