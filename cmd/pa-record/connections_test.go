package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
)

// checkOK wants as many requests, all of them good.
func checkOK(t *testing.T, requests []export.Request, n int) {
	t.Helper()
	if len(requests) != n {
		t.Errorf("%d requests, want %d", len(requests), n)
	}
	for i := range requests {
		if r := &requests[i]; r.Status != export.StatusOK {
			t.Errorf("request %d: %v %d %s", r.ID, r.Status, r.Code, r.Message)
		}
	}
}

// services are the ways to talk to a simulated server.
func services(t *testing.T, srv simProcess) map[string][]string {
	t.Helper()
	prompts := filepath.Join(t.TempDir(), "prompts.json")
	if err := os.WriteFile(prompts, []byte(`{"data":[{"text_input":["x"],"stream":[true],"sampling_parameters":["{\"max_tokens\":4}"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"OpenAI":             {"--service-kind", "openai", "--streaming", "-u", srv.openAI},
		"Triton HTTP":        {"-m", "add_sub", "-u", srv.http},
		"Triton gRPC":        {"-m", "add_sub", "-i", "grpc", "-u", srv.grpc},
		"Triton gRPC stream": {"-m", "vllm", "-i", "grpc", "--streaming", "-u", srv.grpc, "--input-data", prompts},
	}
}

// Two servers get half of the requests each, in turn, whoever sends them.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	a, b := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "4"), startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "4")
	second := services(t, b)
	for name, args := range services(t, a) {
		t.Run(name, func(t *testing.T) {
			beforeA, beforeB := len(a.ledger(t)), len(b.ledger(t))
			url := second[name][slices.Index(second[name], "-u")+1]
			file := filepath.Join(t.TempDir(), "e.json")
			args := append(args, "-u", url, "--concurrency-range", "4", "--request-count", "20", "--profile-export-file", file, "--quiet")
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			run, requests := exporttest.Read(t, file)
			checkOK(t, requests, 20)
			entriesA, entriesB := a.ledger(t)[beforeA:], b.ledger(t)[beforeB:]
			if len(entriesA) != 10 || len(entriesB) != 10 {
				t.Errorf("%d requests at the first server, %d at the second; want 10, 10", len(entriesA), len(entriesB))
			}
			if len(run.Meta.URLs) != 2 || run.Meta.URL != run.Meta.URLs[0] || run.Meta.URLs[1] != url {
				t.Errorf("URL %q, URLs %q", run.Meta.URL, run.Meta.URLs)
			}
			conns := map[int]int{}
			for i := range requests {
				conns[requests[i].Conn]++
				if got, want := requests[i].Conn%2, int(requests[i].ID-1)%2; got != want {
					t.Errorf("request %d on connection %d", requests[i].ID, requests[i].Conn)
				}
			}
			if len(conns) < 2 || len(conns) > 8 {
				t.Errorf("connections %v, want up to 4 to each server", conns)
			}
			if !strings.HasPrefix(name, "Triton") {
				return
			}
			for server, entries := range [][]sim.Entry{entriesA, entriesB} {
				for _, e := range entries {
					if id, err := strconv.Atoi(e.ID); err != nil || (id-1)%2 != server {
						t.Errorf("server %d got request %q", server, e.ID)
					}
				}
			}
			checkStamps(t, run)
		})
	}
}

// Slots that share gRPC connections record their own messages, with the
// kernel's stamps.
func TestSharedGRPC(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "normal:3ms,1ms", "--itl", "lognormal:1ms,1ms")
	for _, tt := range []struct{ name, input, args string }{
		{"streams", `{"data":[{"text_input":["one two"],"stream":[true],"sampling_parameters":["{\"max_tokens\":9}"]}]}`, "-m vllm -i grpc --streaming"},
		{"unary", `{"data":[{"INPUT0":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"INPUT1":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}]}`, "-m add_sub -i grpc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append(strings.Fields(tt.args), "-u", srv.grpc, "--grpc-connections", "2", "--concurrency-range", "8")
			requests, entries := recordTriton(t, srv, tt.input, args...)
			conns, kernel := map[int]bool{}, nettest.KernelStamps(t)
			for i := range requests {
				r, e := &requests[i], &entries[i]
				conns[r.Conn] = true
				if len(r.Responses) != len(e.Writes) {
					t.Fatalf("request %d: %d responses, %d messages sent", r.ID, len(r.Responses), len(e.Writes))
				}
				if kernel && r.StartSource.String() != "kernel" {
					t.Errorf("request %d: start by %v", r.ID, r.StartSource)
				}
				for j, p := range r.Responses {
					if kernel && p.Source.String() != "kernel" || p.RecvNS < e.Writes[j].SentNS {
						t.Errorf("request %d, response %d by %v at %d, sent at %d", r.ID, j, p.Source, p.RecvNS, e.Writes[j].SentNS)
					}
				}
			}
			if len(conns) != 2 {
				t.Errorf("connections %v, want 2", conns)
			}
		})
	}
}

// --connection-reuse shows in the number of connections, and each is recorded
// with the first request on it.
func TestConnectionReuse(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	for name, args := range services(t, srv) {
		for reuse, want := range map[string]struct{ least, most int }{"reuse": {1, 2}, "fresh": {10, 10}, "prewarm": {1, 2}} {
			t.Run(name+", "+reuse, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "e.json")
				args := append(slices.Clone(args), "--connection-reuse", reuse, "--concurrency-range", "2", "--request-count", "10", "--profile-export-file", file, "--quiet")
				if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				run, requests := exporttest.Read(t, file)
				checkOK(t, requests, 10)
				paid, conns := 0, map[int]bool{}
				for i := range requests {
					conns[requests[i].Conn] = true
					if requests[i].Connect > 0 {
						paid++
					}
				}
				if n := len(conns); paid != n || n < want.least || n > want.most {
					t.Errorf("%d requests have the phases of %d connections, want %d to %d", paid, n, want.least, want.most)
				}
				checkStamps(t, run)
			})
		}
	}
}

// Nothing is compressed, nor asked for compressed.
func TestNothingCompressed(t *testing.T) {
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	var mu sync.Mutex
	var heads []http.Header // guarded by mu
	take := func() []http.Header {
		mu.Lock()
		defer mu.Unlock()
		taken := heads
		heads = nil
		return taken
	}
	listen := func(to string) string {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		relay := nettest.Relay(u)
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			heads = append(heads, r.Header.Clone())
			mu.Unlock()
			relay.ServeHTTP(w, r)
		}))
		t.Cleanup(h.Close)
		return h.URL
	}
	for _, args := range []string{
		"--service-kind openai --streaming --transport nethttp -u " + listen(srv.openAI),
		"--service-kind openai --transport auto -u " + listen(srv.openAI),
		"-m add_sub -u " + listen(srv.http),
	} {
		args := append(strings.Fields(args), "--request-count", "2", "--profile-export-file", filepath.Join(t.TempDir(), "e.json"), "--quiet")
		take()
		if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		seen := take()
		if len(seen) < 3 {
			t.Errorf("%d requests, want the check's and two", len(seen))
		}
		for _, h := range seen {
			if a, c := h.Values("Accept-Encoding"), h.Values("Content-Encoding"); len(a)+len(c) > 0 {
				t.Errorf("%v: Accept-Encoding %q, Content-Encoding %q", args, a, c)
			}
		}
	}
}
