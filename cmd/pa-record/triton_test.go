package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder/serverstat"
	"github.com/pa-tools/pa/pkg/sim"
)

// A countingWriter counts bytes before it passes them on, so that who has the
// answer to them sees them counted.
type countingWriter struct {
	w io.Writer
	n *atomic.Int64
}

func (c countingWriter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.w.Write(p)
}

// countedProxy returns an address behind which server is, and how many bytes came for it.
func countedProxy(t *testing.T, server string) (addr string, sent *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent = &atomic.Int64{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				t.Error(err)
				client.Close()
				return
			}
			running.Go(func() {
				defer up.Close()
				_, _ = io.Copy(countingWriter{up, sent}, client) // the client ends it
			})
			running.Go(func() {
				defer client.Close()
				_, _ = io.Copy(client, up)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String(), sent
}

// What is sent over gRPC is compressed, and understood: a prompt of one word over and
// over is a small part of its size on the wire.
func TestGRPCCompression(t *testing.T) {
	dir := t.TempDir()
	const words, requests = 5000, 4
	prompts := filepath.Join(dir, "prompts.jsonl")
	if err := os.WriteFile(prompts, []byte(`{"text_input":"`+strings.Repeat("word ", words)+`","max_tokens":2}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms")
	plain := int64(words * len("word ") * requests)
	for _, tt := range []struct {
		how   string
		small bool
	}{{"none", false}, {"gzip", true}, {"deflate", true}, {"GZIP", true}} {
		for _, unary := range []bool{false, true} {
			addr, sent := countedProxy(t, srv.grpc)
			out := filepath.Join(t.TempDir(), "e.json")
			args := []string{"-i", "grpc", "-u", addr, "--request-count", "4", "--quiet", "--grpc-compression-algorithm", tt.how, "--profile-export-file", out}
			if unary {
				args = append(args, "-m", "add_sub", "--input-data", "zero")
			} else {
				args = append(args, "-m", "vllm", "--streaming", "--input-data", prompts)
			}
			code, _, stderr := inProcess(t.Context(), t, args...)
			if code != 0 {
				t.Fatalf("%s: exit code %d:\n%s", tt.how, code, stderr)
			}
			if _, all := readExport(t, out); len(all) != requests || all[0].Excluded() != "" {
				t.Errorf("%s: %d requests, the first %s", tt.how, len(all), all[0].Excluded())
			}
			if n := sent.Load(); !unary && (n < plain/2) != tt.small {
				t.Errorf("%s: %d bytes sent of %d", tt.how, n, plain)
			}
		}
	}
}

// The server traces the model while the load is on, as it is told, and no longer.
func TestTraceSettings(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		srv, err := sim.Start(t.Context(), sim.Config{AddSubDelay: sim.ConstantDelay(1e6)})
		if err != nil {
			t.Fatal(err)
		}
		url := srv.TritonHTTPURL()
		if protocol == "grpc" {
			url = srv.TritonGRPCAddr()
		}
		out := filepath.Join(t.TempDir(), "e.json")
		args := strings.Fields("-m add_sub -i " + protocol + " -u " + url + " --request-count 3 --quiet --trace-level TIMESTAMPS --trace-level TENSORS --trace-rate 7 --trace-count -1 --log-frequency 0 --profile-export-file " + out)
		code, _, stderr := inProcess(t.Context(), t, args...)
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if code != 0 || strings.Contains(stderr, "warning") {
			t.Fatalf("exit code %d:\n%s", code, stderr)
		}
		want := []sim.TraceChange{
			{Model: "add_sub", Settings: map[string][]string{"trace_level": {"TIMESTAMPS", "TENSORS"}, "trace_rate": {"7"}, "trace_count": {"-1"}, "log_frequency": {"0"}}},
			{Model: "add_sub", Settings: map[string][]string{"trace_level": nil, "trace_rate": nil, "trace_count": nil, "log_frequency": nil}},
		}
		if d := cmp.Diff(want, srv.TraceChanges()); d != "" {
			t.Errorf("%s: trace settings (-want +got):\n%s", protocol, d)
		}
	}
}

func TestTritonFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-m x --grpc-compression-algorithm gzip", "--grpc-compression-algorithm needs -i grpc"},
		{"-m x -i grpc --grpc-compression-algorithm brotli", "it is none, gzip or deflate"},
		{"-m x --trace-level SOME", "--trace-level SOME: it is OFF, TIMESTAMPS or TENSORS"},
		{"-m x --trace-rate 0", "--trace-rate 0: must be at least 1"},
		{"-m x --trace-count -2", "must be at least -1"},
		{"-m x --log-frequency -1", "must be at least 0"},
		{"-m x --bls-composing-models a,,b", "a model has no name"},
		{"--service-kind openai --trace-rate 5", "--trace-rate belongs to --service-kind triton"},
	} {
		if _, err := parse(t, "", strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
	s, err := parse(t, "", strings.Fields("-m x --bls-composing-models a:1,b")...)
	if want := []serverstat.ModelRef{{Name: "a", Version: "1"}, {Name: "b"}}; err != nil || !slices.Equal(s.bls, want) {
		t.Errorf("%v: models %v, want %v", err, s.bls, want)
	}
	s, err = parse(t, "", strings.Fields("-m x -i grpc --grpc-compression-algorithm none --trace-rate 5")...)
	if err != nil || s.Compression != "" || s.TraceRate != "5" || !slices.Equal(s.TraceLevels, nil) {
		t.Errorf("%v: %+v", err, s)
	}
}
