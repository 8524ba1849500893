//go:build realservers

package realservers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// TestFloods sends every 8th request to a server whose answers are 64 MiB that say
// nothing, and the others to a simulated server that streams tokens at a pace. Each
// server is a process of its own, as is pa-record. The floods must become failed rows
// that name the flag, cost pa-record less than 250 MB, and leave the timestamps of
// the other streams as exact as they are without a flood.
//
// Both ends of a token's way are times of the kernel, which do not depend on when the
// programs run. Tokens that one read returns together have one stamp, the time of the
// last, so the last alone counts: a busy machine joins more of them, flood or not.
func TestFloods(t *testing.T) {
	for _, p := range []floodedProtocol{
		{"loop", "http", openAIFlags("loop")},
		{"nethttp", "http", openAIFlags("nethttp")},
		{"grpc", "grpc", []string{"-m", "vllm", "-i", "grpc", "--streaming"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			quiet := p.measure(t, "")
			for _, flood := range floodsOf[p.server] {
				t.Run(flood, func(t *testing.T) {
					r := p.measure(t, flood)
					r.check(t, quiet)
					// Another program may have disturbed one of the two runs, so a
					// difference counts only if it comes again and again.
					for again := 0; !r.exact(t, quiet); again++ {
						if again == 2 {
							t.Fatalf("p99 of sent to stamp is %v with the flood and %v without, the third time in a row", r.p99, quiet.p99)
						}
						quiet, r = p.measure(t, ""), p.measure(t, flood)
					}
				})
			}
		})
	}
}

const (
	floodBytes     = 64 << 20 // of an answer
	floodedTokens  = 40
	floodedGap     = 25 * time.Millisecond // from token to token
	pacedStreams   = 56
	floodStreams   = 8
	floodedRounds  = 4                           // requests of each stream
	pacedAddresses = pacedStreams / floodStreams // requests between two to the flooding server
)

// floodEvents has, by name, the bytes that a flood over HTTP repeats.
var floodEvents = map[string]string{"comments": ":\n\n", "empty data": "data:\n\n", "empty objects": "data: {}\n\n"}

// floodsOf has the names of the floods of a kind of server.
var floodsOf = map[string][]string{"http": {"comments", "empty data", "empty objects"}, "grpc": {"empty messages"}}

// A floodedProtocol is one of pa-record's ways to send requests.
type floodedProtocol struct {
	name   string
	server string // kind of server: http or grpc
	flags  []string
}

func openAIFlags(transport string) []string {
	return []string{"--service-kind", "openai", "-m", "sim", "--streaming", "--transport", transport}
}

// A floodRun holds the figures of one run of pa-record.
type floodRun struct {
	maxRSS  int64         // bytes
	p99     time.Duration // between the sending of a token and its timestamp, of the last tokens of each read
	tokens  int           // that p99 is of
	failed  int           // requests
	message string        // of a failed request
}

// measure runs pa-record with paced streams and, unless flood is "", with floods of
// that name beside them.
func (p *floodedProtocol) measure(t *testing.T, flood string) floodRun {
	t.Helper()
	dir := t.TempDir()
	prompts := filepath.Join(dir, "prompts.json")
	entry := fmt.Sprintf(`{"payload": [{"model": "sim", "stream": true, "max_tokens": %d, "ignore_eos": true, "messages": [{"role": "user", "content": "x"}]}]}`, floodedTokens)
	if p.server == "grpc" {
		entry = fmt.Sprintf(`{"text_input": ["x"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": %d}"]}`, floodedTokens)
	}
	if err := os.WriteFile(prompts, []byte(`{"data": [`+entry+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := startServer(t, exec.Command(program(t, "pa-record"), "sim", "--stop-at-eof",
		"--openai-addr", "127.0.0.1:0", "--triton-grpc-addr", "127.0.0.1:0", "--triton-http-addr", "off",
		"--ttft", "normal:200ms,60ms", "--itl", floodedGap.String(), "--ledger-content", "times", "--kernel-sends"), "OpenAI", "Triton gRPC")
	addr := strings.TrimPrefix(sim[0], "http://")
	if p.server == "grpc" {
		addr = sim[1]
	}
	urls, streams := otherNames(t, addr, pacedAddresses), pacedStreams
	if flood != "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), floodEnv+"="+flood)
		urls, streams = append(urls, startServer(t, cmd, "flood")[0]), streams+floodStreams
	}
	args := append(slices.Clone(p.flags), "-u", strings.Join(urls, ","), "--input-data", prompts, "--concurrency-range", strconv.Itoa(streams),
		"--request-count", strconv.Itoa(floodedRounds*streams), "--ui", "none", "--profile-export-file", "run.json")
	cmd := exec.Command(program(t, "pa-record"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no usage of the process")
	}
	r := floodRun{maxRSS: usage.Maxrss << 10}
	f, truth := readExport(t, filepath.Join(dir, "run.json")), readLedger(t, sim[0])
	last, tokens := map[uint64]uint64{}, 0 // by timestamp, when the last token that has it was sent
	for _, q := range f.Experiments[0].Requests {
		for i, ns := range p.sent(t, q, truth) {
			if ns > 0 {
				tokens++
				stamp := q.ResponseTimestamps[i]
				last[stamp] = max(last[stamp], ns)
			}
		}
	}
	var lags []time.Duration
	for stamp, sent := range last {
		lags = append(lags, time.Duration(stamp-sent).Abs())
	}
	for _, q := range f.excluded() {
		if q.PA.Status == "protocol_error" {
			r.failed++
			r.message = q.PA.Message
		}
	}
	slices.Sort(lags)
	if r.tokens = len(lags); tokens < pacedStreams*floodedTokens {
		t.Fatalf("the kernel's times of %d tokens are known, want at least %d", tokens, pacedStreams*floodedTokens)
	}
	r.p99 = lags[int(math.Ceil(.99*float64(len(lags))))-1]
	t.Logf("flood %q: peak %d MB, p99 of sent to stamp %v over %d of %d tokens, %d failed (%s), %v of CPU time", flood, r.maxRSS>>20, r.p99, r.tokens, tokens, r.failed, r.message,
		cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return r
}

// check holds a run with a flood against one without.
func (r floodRun) check(t *testing.T, quiet floodRun) {
	t.Helper()
	if more := r.maxRSS - quiet.maxRSS; more > 250e6 {
		t.Errorf("the flood cost %d MB of memory, want less than 250", more/1e6)
	}
	if r.failed == 0 || !strings.Contains(r.message, "--max-answer-memory") {
		t.Errorf("%d failed rows, the message %q; want floods to fail and say why", r.failed, r.message)
	}
}

// exact reports whether a run with a flood has about as exact timestamps as quiet, a
// run without one. The bound is generous, because the servers share the machine's
// processors with pa-record.
func (r floodRun) exact(t *testing.T, quiet floodRun) bool {
	t.Helper()
	t.Logf("p99 of sent to stamp: %v with the flood, %v without: ratio %.2f", r.p99, quiet.p99, float64(r.p99)/float64(quiet.p99))
	return r.p99 <= max(10*quiet.p99, 5*time.Millisecond)
}

// A sentEntry is a line of the simulated server's ledger: a request that it answered.
type sentEntry struct {
	ID     string `json:"id"`
	Writes []struct {
		KernelNS uint64 `json:"kernel_ns"`
		Events   int    `json:"events"`
	} `json:"writes"`
}

// readLedger returns the entries of a simulated server by id.
func readLedger(t *testing.T, url string) map[string]sentEntry {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url + "/ledger?wait=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all := map[string]sentEntry{}
	for d := json.NewDecoder(resp.Body); ; {
		var e sentEntry
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[e.ID] = e
	}
}

var completionID = regexp.MustCompile(`"id": ?"([^"]+)"`)

// sent returns when the server's kernel sent each response of q; 0 means unknown.
func (p *floodedProtocol) sent(t *testing.T, q requestFile, ledger map[string]sentEntry) []uint64 {
	t.Helper()
	id := strconv.FormatUint(q.PA.ID, 10)
	if p.server == "http" {
		if m := completionID.FindStringSubmatch(q.ResponseOutputs[0].text("response")); m != nil {
			id = m[1]
		}
	}
	var sent []uint64
	for _, w := range ledger[id].Writes {
		for range w.Events {
			sent = append(sent, w.KernelNS)
		}
	}
	if len(sent) < len(q.ResponseTimestamps) {
		t.Fatalf("request %q: %d responses, but the server sent %d", id, len(q.ResponseTimestamps), len(sent))
	}
	return sent[:len(q.ResponseTimestamps)]
}

// otherNames returns n URLs of the server at a port of loopback. They differ, as
// pa-record wants it of -u, but only in case, which host names ignore.
func otherNames(t *testing.T, addr string, n int) []string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	const host = "localhost"
	urls := make([]string, n)
	for i := range urls {
		urls[i] = host[:i] + strings.ToUpper(host[i:i+1]) + host[i+1:] + ":" + port
	}
	return urls
}

// startServer starts a program that prints "name: address" for each of the names and
// ends with its standard input. It returns the addresses.
func startServer(t *testing.T, cmd *exec.Cmd, names ...string) []string {
	t.Helper()
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		slow := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer slow.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", cmd, err)
		}
	})
	addrs, found := make([]string, len(names)), 0
	for lines := bufio.NewScanner(stdout); found < len(names) && lines.Scan(); {
		name, addr, _ := strings.Cut(lines.Text(), ": ")
		if i := slices.Index(names, name); i >= 0 {
			addrs[i] = addr
			found++
		}
	}
	if found < len(names) {
		t.Fatalf("%v does not say where it listens", cmd)
	}
	return addrs
}

// floodEnv makes the test binary a server that floods; its value is the flood's name.
const floodEnv = "PA_TEST_FLOOD"

func TestMain(m *testing.M) {
	if flood := os.Getenv(floodEnv); flood != "" {
		if err := serveFlood(flood); err != nil {
			fmt.Fprintln(os.Stderr, "flood server:", err)
			os.Exit(1)
		}
		return
	}
	if addr := os.Getenv(ssedEnv); addr != "" {
		fmt.Fprintln(os.Stderr, "ssed:", http.ListenAndServe(addr, new(ssed).handler()))
		os.Exit(1)
	}
	// No program that a test starts asks the hub for a tokenizer.
	if err := os.Setenv("HF_HUB_OFFLINE", "1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testenv.MoreParallel() // perf_analyzer and servers wait most of the time
	os.Exit(m.Run())
}

// serveFlood answers every request with a flood, until standard input ends.
func serveFlood(flood string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	event, overHTTP := floodEvents[flood]
	h, g := &http.Server{Handler: floodHandler(event)}, grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(g, &floodServer{})
	serve := g.Serve
	if overHTTP {
		serve = h.Serve
	}
	fmt.Printf("flood: %s\n", l.Addr())
	served := make(chan error, 1)
	go func() { served <- serve(l) }() // ends with the process
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		served <- nil
	}()
	return <-served
}

// floodHandler is an OpenAI server whose answers repeat an event.
func floodHandler(event string) http.Handler {
	many := []byte(strings.Repeat(event, 1+(32<<10)/(len(event)+1)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"data":[{"id":"sim"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for sent := 0; sent < floodBytes; sent += len(many) {
			if _, err := w.Write(many); err != nil {
				return // refused
			}
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
}

// A floodServer is a Triton with one decoupled model.
type floodServer struct {
	pb.UnimplementedGRPCInferenceServiceServer
}

func (*floodServer) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (*floodServer) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: true}, nil
}

func (*floodServer) ModelReady(context.Context, *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	return &pb.ModelReadyResponse{Ready: true}, nil
}

func (*floodServer) ModelMetadata(context.Context, *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	tensor := func(name, kind string) *pb.ModelMetadataResponse_TensorMetadata {
		return &pb.ModelMetadataResponse_TensorMetadata{Name: name, Datatype: kind, Shape: []int64{1}}
	}
	return &pb.ModelMetadataResponse{
		Name: "vllm", Versions: []string{"1"},
		Inputs:  []*pb.ModelMetadataResponse_TensorMetadata{tensor("text_input", "BYTES"), tensor("stream", "BOOL"), tensor("sampling_parameters", "BYTES")},
		Outputs: []*pb.ModelMetadataResponse_TensorMetadata{tensor("text_output", "BYTES")},
	}, nil
}

func (*floodServer) ModelConfig(context.Context, *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	input := func(name string, kind pb.DataType) *pb.ModelInput {
		return &pb.ModelInput{Name: name, DataType: kind, Dims: []int64{1}}
	}
	return &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name:                   "vllm",
		ModelTransactionPolicy: &pb.ModelTransactionPolicy{Decoupled: true},
		Input:                  []*pb.ModelInput{input("text_input", pb.DataType_TYPE_STRING), input("stream", pb.DataType_TYPE_BOOL), input("sampling_parameters", pb.DataType_TYPE_STRING)},
		Output:                 []*pb.ModelOutput{{Name: "text_output", DataType: pb.DataType_TYPE_STRING, Dims: []int64{1}}},
	}}, nil
}

func (*floodServer) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		q, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		const wireBytes = 5 // of an empty message
		for range floodBytes / wireBytes {
			if err := stream.Send(&pb.ModelStreamInferResponse{}); err != nil {
				return nil //nolint:nilerr // refused
			}
		}
		if err := stream.Send(&pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{
			ModelName: "vllm", Id: q.Id,
			Parameters: map[string]*pb.InferParameter{"triton_final_response": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}},
		}}); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
}
