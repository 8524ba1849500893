//go:build realservers

package realservers

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/realtest"
)

// TestFloods has 8 of 64 streams bring answers of 64 MiB that say nothing. They
// cost pa-record less than 250 MB and become failed rows that say why.
// How exact the time stamps of the other streams are with and without a flood is
// logged: on a machine without a core to spare the server is late, too.
func TestFloods(t *testing.T) {
	openAI := func(transport string) []string {
		return []string{"--service-kind", "openai", "-m", "m", "--streaming", "--transport", transport}
	}
	floods := []struct{ name, event string }{
		{"comments", ":\n\n"},
		{"empty data", "data:\n\n"},
		{"empty objects", "data: {}\n\n"},
	}
	for _, transport := range []string{"loop", "nethttp"} {
		t.Run(transport, func(t *testing.T) {
			quiet := measureFlood(t, "", openAI(transport), serveHTTPFlood)
			for _, f := range floods {
				t.Run(f.name, func(t *testing.T) { measureFlood(t, f.event, openAI(transport), serveHTTPFlood).check(t, quiet) })
			}
		})
	}
	t.Run("grpc", func(t *testing.T) {
		args := []string{"-m", "llm", "-i", "grpc", "--streaming"}
		quiet := measureFlood(t, "", args, serveGRPCFlood)
		measureFlood(t, "messages", args, serveGRPCFlood).check(t, quiet)
	})
}

const (
	floodBytes   = 64 << 20
	floodTokens  = 40
	floodGap     = 25 * time.Millisecond
	floodStreams = 64
	floodEvery   = 8 // request
)

// A floodRun is what a run came to.
type floodRun struct {
	maxRSS  int64         // bytes
	cpu     time.Duration // of the process
	p99     time.Duration // from a token's writing to its stamp
	tokens  int
	failed  int
	longest time.Duration // of the whole run
	message string        // of a failed row
}

// measureFlood runs pa-record against a server that floods every 8th request
// with the event; "" is none.
func measureFlood(t *testing.T, event string, args []string, serve func(t *testing.T, event string) string) floodRun {
	t.Helper()
	dir := t.TempDir()
	args = append(slices.Clone(args), "-u", serve(t, event), "--concurrency-range", strconv.Itoa(floodStreams),
		"--request-count", strconv.Itoa(4*floodStreams), "--ui", "none", "--profile-export-file", "run.json")
	cmd := exec.Command(realtest.Program(t, "pa-record"), args...)
	cmd.Dir = dir
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := floodRun{longest: time.Since(begin)}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no usage of the process")
	}
	r.maxRSS = usage.Maxrss << 10
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	f := readExport(t, filepath.Join(dir, "run.json"))
	var lags []time.Duration
	for _, q := range f.Experiments[0].Requests {
		lags = append(lags, tokenLags(t, q)...)
	}
	for _, q := range f.excluded() {
		if q.PA.Status == "protocol_error" {
			r.failed++
			r.message = q.PA.Message
		}
	}
	slices.Sort(lags)
	if r.tokens = len(lags); r.tokens == 0 {
		t.Fatal("no tokens")
	}
	r.p99 = lags[int(math.Ceil(.99*float64(len(lags))))-1]
	t.Logf("%q: peak %d MB, p99 of write to stamp %v over %d tokens, %d failed (%s), %v, %v of CPU time", event, r.maxRSS>>20, r.p99, r.tokens, r.failed, r.message, r.longest, r.cpu)
	return r
}

var sentAt = regexp.MustCompile(`at (\d{19})`)

// tokenLags returns how long after its writing each token of q was stamped.
func tokenLags(t *testing.T, q requestFile) (lags []time.Duration) {
	for i, out := range q.ResponseOutputs {
		for _, field := range out {
			m := sentAt.FindSubmatch(field)
			if m == nil {
				continue
			}
			ns, err := strconv.ParseUint(string(m[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			lags = append(lags, time.Duration(q.ResponseTimestamps[i]-ns))
		}
	}
	return lags
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
	t.Logf("p99 of write to stamp: %v with the flood, %v without: ratio %.2f", r.p99, quiet.p99, float64(r.p99)/float64(quiet.p99))
}

// isFlood numbers the requests and reports which of them to flood.
func isFlood(n *atomic.Int64, event string) bool { return n.Add(1)%floodEvery == 0 && event != "" }

func serveHTTPFlood(t *testing.T, event string) string {
	var n atomic.Int64
	many := []byte(strings.Repeat(event, 1+(32<<10)/(len(event)+1)))
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if isFlood(&n, event) {
			for sent := 0; sent < floodBytes; sent += len(many) {
				if _, err := w.Write(many); err != nil {
					return // refused
				}
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
			return
		}
		for range floodTokens {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"at %d \"}}]}\n\n", time.Now().UnixNano())
			w.(http.Flusher).Flush()
			time.Sleep(floodGap)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})}
	return "http://" + listen(t, srv.Serve, func() { _ = srv.Close() })
}

func listen(t *testing.T, serve func(net.Listener) error, stop func()) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		_ = serve(l)
	}()
	t.Cleanup(func() { stop(); <-done })
	return l.Addr().String()
}

// A floodServer is a Triton with one decoupled model.
type floodServer struct {
	pb.UnimplementedGRPCInferenceServiceServer
	n     atomic.Int64
	event string
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
	return &pb.ModelMetadataResponse{
		Name: "llm", Versions: []string{"1"},
		Inputs:  []*pb.ModelMetadataResponse_TensorMetadata{{Name: "text_input", Datatype: "BYTES", Shape: []int64{1}}},
		Outputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "text_output", Datatype: "BYTES", Shape: []int64{1}}},
	}, nil
}

func (*floodServer) ModelConfig(context.Context, *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	return &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name:                   "llm",
		ModelTransactionPolicy: &pb.ModelTransactionPolicy{Decoupled: true},
		Input:                  []*pb.ModelInput{{Name: "text_input", DataType: pb.DataType_TYPE_STRING, Dims: []int64{1}}},
		Output:                 []*pb.ModelOutput{{Name: "text_output", DataType: pb.DataType_TYPE_STRING, Dims: []int64{1}}},
	}}, nil
}

func (s *floodServer) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		q, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		if isFlood(&s.n, s.event) {
			const wireBytes = 5 // of an empty message
			for range floodBytes / wireBytes {
				if err := stream.Send(&pb.ModelStreamInferResponse{}); err != nil {
					return nil //nolint:nilerr // refused
				}
			}
		}
		for i := range floodTokens + 1 {
			text := fmt.Sprintf("at %d ", time.Now().UnixNano())
			if err := stream.Send(&pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{
				ModelName: "llm", Id: q.Id,
				Parameters: map[string]*pb.InferParameter{"triton_final_response": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: i == floodTokens}}},
				Outputs:    []*pb.ModelInferResponse_InferOutputTensor{{Name: "text_output", Datatype: "BYTES", Shape: []int64{1}}},
				RawOutputContents: [][]byte{
					append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...),
				},
			}}); err != nil {
				return nil //nolint:nilerr // the client is gone
			}
			time.Sleep(floodGap)
		}
	}
}

func serveGRPCFlood(t *testing.T, event string) string {
	s := grpc.NewServer(grpc.MaxConcurrentStreams(1000))
	pb.RegisterGRPCInferenceServiceServer(s, &floodServer{event: event})
	return listen(t, s.Serve, s.Stop)
}
