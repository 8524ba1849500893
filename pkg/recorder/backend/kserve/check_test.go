package kserve

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/nettest"
)

func TestCheckModel(t *testing.T) {
	f := startFake(t, nil)
	want := map[string]modelInfo{
		"adder": {Name: "adder", MaxBatch: 8, Inputs: adder.inputs, Outputs: adder.outputs},
		"llm":   {Name: "llm", Decoupled: true, Inputs: llm.inputs, Outputs: llm.outputs},
		"open":  {Name: "open", Inputs: open.inputs, Outputs: []tensorSpec{}},
	}
	for name, m := range want {
		for _, p := range []Protocol{GRPC, HTTP} {
			if m.Decoupled && p == HTTP {
				continue
			}
			got := f.open(t, Config{Protocol: p, Model: name, Streaming: m.Decoupled}).model
			if diff := cmp.Diff(m, got); diff != "" {
				t.Errorf("%s over %s:\n%s", name, p, diff)
			}
		}
	}
}

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	f := startFake(t, nil)
	refused := nettest.Listen(t)
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}
	// Listens, but never answers.
	silent := nettest.Listen(t)
	t.Cleanup(func() { _ = silent.Close() }) // after the parallel rows

	const hint = "; is the server running, and is -u right? (gRPC is usually 8001, HTTP 8000)"
	for _, tt := range []struct {
		name, want string // URL stands for the address
		c          Config
	}{
		{"refused, gRPC", "URL: connection refused" + hint, Config{URL: refused.Addr().String(), Protocol: GRPC, Model: "llm"}},
		{"refused, HTTP", "URL: connection refused" + hint, Config{URL: refused.Addr().String(), Model: "llm"}},
		{
			"HTTP port for gRPC", "URL: does not speak gRPC; is this the HTTP port? (gRPC is usually 8001; or use -i http)",
			Config{URL: f.httpAddr, Protocol: GRPC, Model: "llm"},
		},
		{
			"gRPC port for HTTP", "URL: speaks gRPC, not HTTP; is this the gRPC port? (HTTP is usually 8000; or use -i grpc)",
			Config{URL: f.grpcAddr, Model: "llm"},
		},
		{"silent, gRPC", "URL: health: no answer within 200ms", Config{URL: silent.Addr().String(), Protocol: GRPC, Model: "llm"}},
		{"silent, HTTP", "URL: health: no answer within 200ms", Config{URL: silent.Addr().String(), Model: "llm"}},
		{
			"unknown model, gRPC", `URL: model "x": Request for unknown model: 'x' is not found; the server offers adder, llm, loading, open`,
			Config{URL: f.grpcAddr, Protocol: GRPC, Model: "x"},
		},
		{
			"unknown model, HTTP", `URL: model "x" version 2: Request for unknown model: 'x' is not found; the server offers adder, llm`,
			Config{URL: f.httpAddr, Model: "x", Version: "2"},
		},
		{"not ready, gRPC", `URL: model "loading" is not ready; is it still loading?`, Config{URL: f.grpcAddr, Protocol: GRPC, Model: "loading"}},
		{"not ready, HTTP", `URL: model "loading" is not ready; is it still loading?`, Config{URL: f.httpAddr, Model: "loading"}},
		{"decoupled, unary", "URL: model llm is decoupled; use -i grpc --async --streaming", Config{URL: f.grpcAddr, Protocol: GRPC, Model: "llm"}},
		{"decoupled, HTTP", "URL: model llm is decoupled; use -i grpc --async --streaming", Config{URL: f.httpAddr, Model: "llm"}},
		{"no batching", "URL: batch size 2: model open does not support batching; use -b 1", Config{URL: f.httpAddr, Model: "open", BatchSize: 2}},
		{"batch too large", "URL: batch size 9: model adder takes at most 8", Config{URL: f.httpAddr, Model: "adder", BatchSize: 9}},
		{
			"shape of no input", "URL: --shape A, B: model open has no such input; it has X, Y, Z",
			Config{URL: f.httpAddr, Model: "open", Shapes: map[string][]int64{"B": {1}, "A": {1}, "X": {1, 2}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(tt.name, "silent") {
				tt.c.CheckTimeout = 200 * time.Millisecond
			}
			b, err := New(tt.c)
			if err != nil {
				t.Fatal(err)
			}
			err = b.Check(t.Context())
			if got := strings.Replace(fmt.Sprint(err), tt.c.URL, "URL", 1); got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		c          Config
	}{
		{"nothing", "no model; name it with -m", Config{}},
		{"streaming over HTTP", "streaming needs gRPC; use -i grpc", Config{Model: "m", Streaming: true}},
		{
			"all at once", "batch size -1: must be at least 1\n-2 gRPC connections: must be at least 1\nshape [0] of \"A\": dimensions must be at least 1",
			Config{Model: "m", BatchSize: -1, Connections: -2, Shapes: map[string][]int64{"A": {0}}},
		},
		{"edge: the largest batch and answer", "<nil>", Config{Model: "m", BatchSize: 1 << 20, MaxAnswerMemory: math.MaxInt32}},
		{"batch too large for any server", "batch size 1048577: must be at most 1048576", Config{Model: "m", BatchSize: 1<<20 + 1}},
		{"answers too large", "answers of at most 2147483648 bytes: must be from 1 to 2147483647", Config{Model: "m", MaxAnswerMemory: 1 << 31}},
		{"answers of negative size", "answers of at most -1 bytes: must be from 1 to 2147483647", Config{Model: "m", MaxAnswerMemory: -1}},
		{"scheme", `the URL's scheme is not http, https, grpc or grpcs`, Config{Model: "m", URL: "ftp://x"}},
		{"port", `URL "x:99999": 99999 is not a port`, Config{Model: "m", URL: "x:99999"}},
		{"port that is no number", `the URL cannot be read; write host:port`, Config{Model: "m", URL: "x:y"}},
		{"no host", `the URL has no host; write host:port`, Config{Model: "m", URL: ":8000"}},
		{"path over gRPC", `URL "x:1": gRPC has no path; write host:port`, Config{Model: "m", URL: "x:1/p", Protocol: GRPC}},
		{"query", `URL "x:1": it cannot have a query; write host:port`, Config{Model: "m", URL: "x:1?key=topsecret2"}},
	} {
		if _, err := New(tt.c); fmt.Sprint(err) != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// The error of a wrong URL shows no user information and no query.
func TestConfigHidesSecrets(t *testing.T) {
	for _, u := range []string{
		"bob:topsecret2@x:1", "http://bob:topsecret2@x", "grpc://bob:topsecret2@x/p", "ftp://bob:topsecret2@x", "bob:topsecret2://x",
		"bob:topsecret2@x:99999", "bob:topsecret2@:1", "bob:topsecret2@x:y", "bob:topsecret2/x@y:1", "bob:top%zzsecret2@x",
		"http://x?topsecret2", "x:1/?topsecret2", "x:99999?topsecret2", "x/p?topsecret2", "x:1#topsecret2", "x:topsecret2",
	} {
		for _, p := range []Protocol{HTTP, GRPC} {
			_, err := New(Config{Model: "m", URL: u, Protocol: p})
			if err == nil || strings.Contains(err.Error(), "secret2") || strings.Contains(err.Error(), "bob") {
				t.Errorf("URL %q over %s: %v", u, p, err)
			}
		}
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		url  string
		p    Protocol
		want target
	}{
		{"", HTTP, target{host: "localhost:8000"}},
		{"", GRPC, target{host: "localhost:8001"}},
		{"box", GRPC, target{host: "box:8001"}},
		{"box:9", HTTP, target{host: "box:9"}},
		{"[::1]:9", GRPC, target{host: "[::1]:9"}},
		{"https://box/a/b/", HTTP, target{host: "box:8000", path: "/a/b", tls: true}},
		{"grpcs://box:443", GRPC, target{host: "box:443", tls: true}},
	} {
		c := Config{URL: tt.url, Protocol: tt.p}
		if got, err := c.target(); err != nil || got != tt.want {
			t.Errorf("target of %q = %+v, %v; want %+v", tt.url, got, err, tt.want)
		}
	}
}
