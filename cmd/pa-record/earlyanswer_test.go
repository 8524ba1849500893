package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// earlyEnv asks for the long form of TestEarlyAnswer: "requests bytes[,bytes…]".
const earlyEnv = "PA_TEST_EARLY_ANSWER"

// A server that answers before it has read the body: the answer comes after the
// first segment of the request left, and after nothing else. So no request may
// begin later than its answer came, whatever its size and the transport.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	kernel := nettest.KernelStamps(t)
	certs := newTestCerts(t)
	over := func(protocols ...string) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{certs.server}, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	}
	requests, sizes := 15/testenv.Stride(5), []int{400_000 / testenv.Stride(2)}
	if text := os.Getenv(earlyEnv); text != "" {
		count, list, _ := strings.Cut(text, " ")
		var err error
		if requests, err = strconv.Atoi(count); err != nil {
			t.Fatal(err)
		}
		sizes = nil
		for s := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, n)
		}
	}
	openAI := "--service-kind openai --streaming "
	ca := " --ssl-https-ca-certificates-file " + certs.path("ca.pem")
	grpcCA := " --ssl-grpc-root-certifications-file " + certs.path("ca.pem")
	plain1, plain2 := startEarly(t, false, nil), startEarly(t, true, nil)
	tls1, tls2 := startEarly(t, false, over("http/1.1")), startEarly(t, true, over("h2"))
	for _, tt := range []struct{ name, args string }{
		{"loop", openAI + "--transport loop -u " + plain1},
		{"nethttp", openAI + "--transport nethttp -u " + plain1},
		{"TLS", openAI + "-u https://" + tls1 + ca},
		{"HTTP2", openAI + "--http2 -u " + plain2},
		{"HTTP2 over TLS", openAI + "--http2 -u https://" + tls2 + ca},
		{"gRPC unary", "-i grpc -u " + plain2},
		{"gRPC unary over TLS", "-i grpc -u grpcs://" + tls2 + grpcCA},
		{"gRPC unary shared", "-i grpc --grpc-connections 1 -u " + plain2},
		{"gRPC unary shared over TLS", "-i grpc --grpc-connections 1 -u grpcs://" + tls2 + grpcCA},
		{"gRPC stream", "-i grpc --streaming -u " + plain2},
		{"gRPC stream over TLS", "-i grpc --streaming -u grpcs://" + tls2 + grpcCA},
		{"gRPC stream shared", "-i grpc --streaming --grpc-connections 1 -u " + plain2},
		{"Triton HTTP", "-i http -u " + plain1},
		{"Triton HTTP over TLS", "-i http -u https://" + tls1 + ca},
	} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%d", tt.name, size), func(t *testing.T) {
				dir := t.TempDir()
				args := append(strings.Fields(tt.args), "-m", "early", "--request-count", strconv.Itoa(requests),
					"--profile-export-file", filepath.Join(dir, "x.json"))
				const bytesPerSecond = 160e6 // that a disk keeps up with
				if size < 1<<20 {
					args = append(args, "--concurrency-range", "2")
				} else {
					args = append(args, "--request-rate-range", strconv.Itoa(bytesPerSecond/size))
				}
				if strings.Contains(tt.args, "openai") {
					prompts := filepath.Join(dir, "prompts.jsonl")
					if err := os.WriteFile(prompts, []byte(`{"text":"`+strings.Repeat("w ", size/2)+`"}`), 0o600); err != nil {
						t.Fatal(err)
					}
					args = append(args, "--input-data", prompts)
				} else {
					args = append(args, "--string-length", strconv.Itoa(size))
				}
				code, _, stderr := inProcess(t.Context(), t, args...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				_, all := exporttest.Read(t, filepath.Join(dir, "x.json"))
				checkStarts(t, all, requests, kernel)
			})
		}
	}
}

// checkStarts checks that no request began after its answer came.
func checkStarts(t *testing.T, all []export.Request, n int, kernel bool) {
	t.Helper()
	good, byKernel := 0, 0
	for i := range all {
		q := &all[i]
		if q.Status != export.StatusOK {
			t.Errorf("request %d: %v %q", q.ID, q.Status, q.Message)
			continue
		}
		good++
		if q.StartSource == export.SourceKernel {
			byKernel++
		}
		if first := q.Responses[0].RecvNS; first < q.StartNS || q.FirstByteNS < q.StartNS {
			t.Errorf("request %d: the answer came %d ns before the request began, its first byte %d ns", q.ID, int64(q.StartNS-first), int64(q.StartNS-q.FirstByteNS))
		}
		if q.StartNS < q.IssuedNS || q.SentNS < q.StartNS {
			t.Errorf("request %d: issued %d, start %d, sent %d", q.ID, q.IssuedNS, q.StartNS, q.SentNS)
		}
	}
	// Where calls share a connection that is full, a stamp may be lost; then the
	// start is the time before the write.
	if good < n || kernel && byKernel < good*9/10 {
		t.Errorf("%d of %d requests ended well, %d with a start of the kernel; want all", good, n, byKernel)
	}
}
