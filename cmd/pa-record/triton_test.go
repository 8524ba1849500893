package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
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
	l := nettest.Listen(t)
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

// A request over gRPC is compressed, and the server understands it: a prompt that repeats one word
// takes a small part of its size on the wire.
func TestGRPCCompression(t *testing.T) {
	t.Parallel()
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
			if _, all := exporttest.Read(t, out); len(all) != requests || all[0].Excluded() != "" {
				t.Errorf("%s: %d requests, the first %s", tt.how, len(all), all[0].Excluded())
			}
			if n := sent.Load(); !unary && (n < plain/2) != tt.small {
				t.Errorf("%s: %d bytes sent of %d", tt.how, n, plain)
			}
		}
	}
}

// The server traces the model as the flags say while the load is on, and no longer.
func TestTraceSettings(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		srv, err := sim.Start(t.Context(), sim.Config{AddSubDelay: plan.ConstantDelay(1e6)})
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
		if code != 0 || strings.Contains(stderr, "trace settings") {
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

// An httpCall is a request for inference and its answer, as they were on the wire.
type httpCall struct {
	contentType, jsonBytes string
	body                   string
	answerJSONBytes        string
	answer                 string
}

// watched returns the address of a proxy before a server that keeps its calls.
func watched(t *testing.T, server string) (addr string, calls func() []httpCall) {
	t.Helper()
	var mu sync.Mutex
	var all []httpCall
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, server+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
			return
		}
		const length = "Inference-Header-Content-Length"
		if strings.HasSuffix(r.URL.Path, "/infer") {
			mu.Lock()
			all = append(all, httpCall{r.Header.Get("Content-Type"), r.Header.Get(length), string(body), resp.Header.Get(length), string(answer)})
			mu.Unlock()
		}
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(h.Close)
	return h.URL, func() []httpCall {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// Tensors go over HTTP in the form that is asked for, each way by itself, and the
// export is the same with any.
func TestTensorFormats(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(data, []byte(`{"data":[{"INPUT0":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-16],"INPUT1":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := sim.Start(t.Context(), sim.Config{AddSubDelay: plan.ConstantDelay(1e6)})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	const asJSON, sums = `"data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-16]`, `"data":[2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,-15]`
	for _, tt := range []struct {
		flags       string
		json, asked bool // inputs, outputs
	}{
		{"", false, false},
		{"--input-tensor-format json", true, false},
		{"--output-tensor-format json", false, true},
		{"--input-tensor-format json --output-tensor-format json", true, true},
		{"--input-tensor-format binary --output-tensor-format binary", false, false},
	} {
		addr, calls := watched(t, srv.TritonHTTPURL())
		out := filepath.Join(t.TempDir(), "e.json")
		code, _, stderr := inProcess(t.Context(), t, strings.Fields("-m add_sub -u "+addr+" --request-count 2 --quiet --input-data "+data+" --profile-export-file "+out+" "+tt.flags)...)
		if code != 0 {
			t.Fatalf("%s: exit code %d:\n%s", tt.flags, code, stderr)
		}
		all := calls()
		if len(all) != 2 {
			t.Fatalf("%s: %d requests", tt.flags, len(all))
		}
		c := all[1]
		if got := strings.Contains(c.body, asJSON); got != tt.json || (c.contentType == "application/json") != tt.json || (c.jsonBytes == "") != tt.json {
			t.Errorf("%s: content type %s, %s bytes of JSON, body %q", tt.flags, c.contentType, c.jsonBytes, c.body)
		}
		if got := strings.Contains(c.answer, sums); got != tt.asked || (c.answerJSONBytes == "") != tt.asked {
			t.Errorf("%s: %s bytes of JSON in the answer %q", tt.flags, c.answerJSONBytes, c.answer)
		}
		_, requests := exporttest.Read(t, out)
		for i := range requests {
			r := &requests[i]
			in, _ := r.Inputs.Get("INPUT0")
			sum, _ := r.Responses[0].Outputs.Get("OUTPUT0")
			if string(in.Data) != strings.TrimPrefix(asJSON, `"data":`) || string(sum.Data) != strings.TrimPrefix(sums, `"data":`) {
				t.Errorf("%s: %s gave %s", tt.flags, in.Data, sum.Data)
			}
		}
	}
}

// Old flags of perf_analyzer for a concurrency give the same load as the flags that replaced them.
func TestOldConcurrency(t *testing.T) {
	for _, tt := range []struct{ old, now string }{
		{"-t 4", "--concurrency-range 4"},
		{"-t 4 -p 1000", "--concurrency-range 4 -p 1000"},
		{"-d -l 50", "--concurrency-range 1:0:1 -l 50"},
		{"-d -t 2 -l 50", "--concurrency-range 2:0:1 -l 50"},
		{"-d -t 2 -c 8 -l 50", "--concurrency-range 2:8:1 -l 50"},
		{"-d -c 3", "--concurrency-range 1:3:1"},
	} {
		var plans [2]string
		for i, args := range []string{tt.old, tt.now} {
			s, err := parse(t, "", append([]string{"-m", "x"}, strings.Fields(args)...)...)
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			js, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			plans[i] = string(js)
		}
		if plans[0] != plans[1] {
			t.Errorf("%s comes to\n%s\n%s to\n%s", tt.old, plans[0], tt.now, plans[1])
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"-t 0", "-t 0: must be at least 1"},
		{"-c 4", "-c belongs to -d, perf_analyzer's old search; for 4 requests in flight give --concurrency-range 4"},
		{"-c 0", "-c 0: must be at least 1"},
		{"-c -2", "-c -2: must be at least 1"},
		{"-d -l 5 -c -1", "-c -1: must not be negative"},
		{"-d", "an end of 0 needs -l, the latency at which to stop"},
		{"-t 4 --concurrency-range 4", "-t and -d are another way to say --concurrency-range; drop one"},
		{"-t 4 --request-rate-range 5", "--concurrency-range and --request-rate-range exclude each other"},
		{"-i grpc --input-tensor-format json", "--input-tensor-format json needs HTTP; drop -i grpc"},
		{"--output-tensor-format yaml", "--output-tensor-format yaml: expected binary or json"},
		{"--shared-memory system --input-tensor-format json --output-tensor-format json", "tensors in JSON and in shared memory exclude each other; drop one"},
		{"--service-kind openai --input-tensor-format json", "--input-tensor-format belongs to --service-kind triton"},
	} {
		_, err := parse(t, "", append([]string{"-m", "x"}, strings.Fields(tt.args)...)...)
		if err == nil {
			_, _, stderr := inProcess(t.Context(), t, append([]string{"-m", "x"}, strings.Fields(tt.args)...)...)
			err = errors.New(stderr)
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
}
