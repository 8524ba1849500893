package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Where the servers of inShapedNetwork listen besides inNetworkAddr.
const (
	shapedHTTPAddr = "127.0.0.1:18001"
	shapedGRPCAddr = "127.0.0.1:18002"
)

// exitNoShaping says that the system has no token bucket filter.
const exitNoShaping = 98

// inShapedNetwork makes the loopback of a network of its own a slow link: an MTU of
// 1,500 bytes, and a token bucket filter that lets so many bytes per second pass. It
// starts a simulated server behind it and runs pa-record.
func inShapedNetwork(bytesPerSecond string) int {
	rate, err := strconv.ParseUint(bytesPerSecond, 10, 32)
	mustDo(err)
	loopbackUp(1500)
	if err := nettest.Shape("lo", uint32(rate)); errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) {
		return exitNoShaping
	} else {
		mustDo(err)
	}
	srv, err := sim.Start(context.Background(), sim.Config{OpenAIAddr: inNetworkAddr, TritonGRPCAddr: shapedGRPCAddr, TTFT: plan.ConstantDelay(0), ITL: plan.ConstantDelay(time.Millisecond), OutputTokens: plan.ConstantLength(2)})
	mustDo(err)
	defer srv.Close()
	l, err := net.Listen("tcp", shapedHTTPAddr)
	mustDo(err)
	h := &http.Server{Handler: http.HandlerFunc(answerWholeText)}
	go func() { _ = h.Serve(l) }() // ends with Close
	defer h.Close()
	return runHere(nil)
}

// answerWholeText is Triton's HTTP API with the model of earlyGets. It answers when it
// has read the request. The models of the simulated server that answer over HTTP have
// short tensors.
func answerWholeText(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	body, ok := earlyGets[r.URL.Path]
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/infer"):
		body = earlyInference
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// Over a link of 100 Mbit/s the 80 ms that a long request takes to be sent are part of
// TTFT: counted from start it is what it is counted from issued, when the connection
// is open. The short form sends half the bytes at half the rate.
func TestUploadTimeInTTFT(t *testing.T) {
	t.Parallel()
	nettest.NeedKernelStamps(t)
	promptBytes, rate := 1_000_000/testenv.Stride(2), 100_000_000/8/testenv.Stride(2)
	requests := 6 / testenv.Stride(2)
	text := strings.Repeat(strings.Repeat("w", 99)+" ", promptBytes/100)
	openAI := []string{"--service-kind", "openai", "-u", inNetworkAddr, "--streaming", "--transport"}
	// The simulated model that answers once has short tensors, so that the length of
	// its requests is in their parameters, none longer than an argument may be.
	unary := []string{"-m", "add_sub", "-i", "grpc", "-u", shapedGRPCAddr}
	const parameters = 10
	for i := range parameters {
		unary = append(unary, "--request-parameter", fmt.Sprintf("p%d:%s:string", i, text[:promptBytes/parameters]))
	}
	for _, tt := range []struct {
		name  string
		args  []string
		input string // of --input-data; "" means none
	}{
		{"loop", append(slices.Clone(openAI), "loop"), `{"text":"` + text + `"}`},
		{"nethttp", append(slices.Clone(openAI), "nethttp"), `{"text":"` + text + `"}`},
		{"gRPC stream", []string{"-m", "vllm", "-i", "grpc", "-u", shapedGRPCAddr, "--streaming"}, `{"data":[{"text_input":["` + text + `"],"stream":[true],"sampling_parameters":["{\"max_tokens\":2}"]}]}`},
		{"gRPC unary", unary, ""},
		{"Triton HTTP", []string{"-m", "early", "-i", "http", "-u", shapedHTTPAddr}, `{"data":[{"IN":["` + text + `"]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "x.json")
			args := append(slices.Clone(tt.args), "--concurrency-range", "1", "--request-count", strconv.Itoa(requests), "--profile-export-file", path)
			if tt.input != "" {
				input := filepath.Join(dir, "input.json")
				if err := os.WriteFile(input, []byte(tt.input), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--input-data", input)
			}
			r := runChild(t, []string{shapedEnv + "=" + strconv.Itoa(rate)}, syscall.CLONE_NEWNET, args...)
			if r.code == exitNoShaping {
				testenv.Lacks(t, "a token bucket filter (the kernel's module sch_tbf)")
			}
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			_, all := exporttest.Read(t, path)
			var shares []float64
			for i := range all {
				q := &all[i]
				if q.Status != export.StatusOK || q.StartSource != export.SourceKernel {
					t.Fatalf("request %d: %v %q, start by %v", q.ID, q.Status, q.Message, q.StartSource)
				}
				first := q.Responses[0].RecvNS
				fromStart, fromIssued := time.Duration(first-q.StartNS), time.Duration(first-q.IssuedNS)
				t.Logf("request %d: TTFT %v from start, %v from issued", q.ID, fromStart, fromIssued)
				if q.Reused {
					shares = append(shares, float64(fromStart)/float64(fromIssued))
				}
				if least := time.Second * time.Duration(promptBytes) * 9 / 10 / time.Duration(rate); fromStart < least {
					t.Errorf("request %d: TTFT %v from start, want at least %v, in which %d bytes are sent", q.ID, fromStart, least, promptBytes)
				}
			}
			if len(shares) == 0 {
				t.Fatal("no request on an open connection")
			}
			// On a busy machine a request may wait between the two, but not each of them.
			if share := slices.Max(shares); share < 0.95 || share > 1 {
				t.Errorf("TTFT from start is at most %.3f of that from issued, want 0.95 to 1", share)
			}
		})
	}
}
