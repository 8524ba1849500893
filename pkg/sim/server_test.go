package sim

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

func TestConfigValidate(t *testing.T) {
	if err := (&Config{}).Validate(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
	bad := Config{
		Models: []string{""}, TritonModels: []TritonModel{{"", VLLM}, {"a", 9}, {"a", VLLM}},
		TTFT: plan.Delay{Mean: 1}, ITL: plan.Delay{Kind: plan.Normal, Mean: -1, Stddev: 0}, OutputTokens: plan.Length{Kind: plan.Lognormal, Mean: 0, Stddev: 1}, AddSubDelay: plan.ConstantDelay(2 * time.Hour),
		PrefillPerToken: -1, MaxConcurrency: -1, TokensPerEvent: -1, Vocabulary: 9, Final: 9,
		ContextTokens: 1 << 30, MaxRequestBytes: -1, MaxNewcomers: -1, HeaderTimeout: -1, LedgerBytes: -1, PrefixCache: &PrefixCache{Tokens: 15}, Faults: []plan.FaultRule{{Fault: 99}, {Every: -1}, {After: -2}},
	}
	for _, a := range bad.apis() {
		*a.addr = Off
	}
	err := bad.Validate()
	for _, want := range []string{
		"all addresses", "models: a name is empty", "triton models: a name is empty", `"a" is there twice`, "unknown interface 9",
		"ttft: unknown kind 0", "itl: the mean is negative", "output tokens: the mean", "add_sub delay: 2h0m0s is more", "prefill", "max concurrency",
		"tokens per event", "unknown vocabulary", "unknown final", "context tokens", "max request bytes", "max newcomers", "header timeout", "ledger bytes",
		"cache tokens: 15 is less than a block of 16; 0 means no limit",
		"fault rule 1: unknown fault", "fault rule 2: every is negative", "fault rule 3: after",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() has no %q: %v", want, err)
		}
	}
	if s, err := Start(t.Context(), bad); err == nil || s != nil {
		t.Errorf("Start(bad) = %v, %v", s, err)
	}
}

func TestStartErrors(t *testing.T) {
	taken := start(t, fast())
	c := fast()
	c.TritonGRPCAddr = taken.TritonGRPCAddr()
	if s, err := Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), taken.TritonGRPCAddr()) {
		t.Errorf("Start at a taken address = %v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, fast()); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a done context = %v, %v", s, err)
	}
}

func TestOff(t *testing.T) {
	c := fast()
	c.TritonHTTPAddr, c.TritonGRPCAddr = Off, Off
	s := start(t, c)
	if s.OpenAIURL() == "" || s.TritonHTTPURL() != "" || s.TritonGRPCAddr() != "" {
		t.Errorf("addresses %q, %q, %q", s.OpenAIURL(), s.TritonHTTPURL(), s.TritonGRPCAddr())
	}
}

// hanging starts a request that stalls on each API, and returns when the server has begun
// to answer them. wg waits for their ends.
func hanging(t *testing.T, s *Server, wg *sync.WaitGroup) {
	t.Helper()
	arrived := make(chan struct{}, 2)
	for _, url := range []string{s.OpenAIURL() + "/v1/completions", s.TritonHTTPURL() + "/v2/models/vllm/generate_stream"} {
		body := `{"prompt":"x","text_input":"x","stream":true,"max_tokens":5,"sim_fault":"stall"}`
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Post(url, "application/json", strings.NewReader(body))
			arrived <- struct{}{}
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s ended without error: %q", url, b)
			}
		})
	}
	<-arrived
	<-arrived
	stream, err := dial(t, s).ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(textRequest("x", "x", `{"max_tokens":5,"sim_fault":"stall"}`, true, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		for {
			if _, err := stream.Recv(); err != nil {
				if errors.Is(err, io.EOF) {
					t.Error("the gRPC stream ended with OK")
				}
				return
			}
		}
	})
}

// Close cuts off the requests in flight.
func TestClose(t *testing.T) {
	s := start(t, fast())
	var wg sync.WaitGroup
	hanging(t, s, &wg)
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	closers.Wait()
	wg.Wait()
	entries := s.Ledger()
	for _, e := range entries {
		if e.End != EndServerClosed || e.EndedNS == 0 {
			t.Errorf("the ledger has end %q for %s", e.End, e.Protocol)
		}
	}
	if len(entries) != 3 {
		t.Errorf("%d entries, want 3", len(entries))
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.OpenAIURL(), "http://")); err == nil {
		t.Error("the port is still open")
	}
}

func TestContextCloses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, fast())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	hanging(t, s, &wg)
	cancel()
	wg.Wait() // the clients are cut off without a Close
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestCloseLeaksNothing(t *testing.T) {
	// Goroutines of other tests do not belong to this server.
	before := goleak.IgnoreCurrent()
	s, err := Start(t.Context(), fast())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","stream":true}`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// Shutdown lets a request end, and gives up on one that does not.
func TestShutdown(t *testing.T) {
	s := start(t, fast())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(s.OpenAIURL()+"/v1/completions", "", strings.NewReader(`{"prompt":"x","stream":true,"max_tokens":20,"itl_ms":2}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if b, err := io.ReadAll(resp.Body); err != nil || !bytes.HasSuffix(b, []byte("[DONE]\n\n")) {
		t.Errorf("%v: %s", err, b)
	}

	var wg sync.WaitGroup
	s = start(t, fast())
	hanging(t, s, &wg)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown of a server that hangs: %v", err)
	}
	wg.Wait()
}

// With one slot, the server works on one request after the other.
func TestMaxConcurrency(t *testing.T) {
	c := fast()
	c.MaxConcurrency = 1
	s := start(t, c)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","stream":true}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries := settled(t, s)
	slices.SortFunc(entries, func(a, b Entry) int { return int(int64(a.StartedNS) - int64(b.StartedNS)) })
	for i, e := range entries[1:] {
		if before := entries[i]; e.StartedNS < before.Writes[len(before.Writes)-1].SentNS {
			t.Errorf("request %d started before request %d had its last byte", e.Index, before.Index)
		}
	}
	if len(entries) != 8 {
		t.Errorf("%d entries", len(entries))
	}
}

// Due times are absolute: a late token does not delay the due time of the next one.
func TestDueTimes(t *testing.T) {
	c := fast()
	c.PrefillPerToken = time.Millisecond
	s := start(t, c)
	if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"a b c","stream":true,"max_tokens":4,"ttft_ms":2,"itl_ms":3}`); err != nil {
		t.Fatal(err)
	}
	e := last(t, s)
	for i, want := range []time.Duration{5, 8, 11, 14, 14} { // the last is [DONE]
		w := e.Writes[i]
		if got := time.Duration(w.DueNS - e.StartedNS); got != want*time.Millisecond || w.SentNS < w.DueNS {
			t.Errorf("write %d: due after %v, sent %v later; want %vms", i, got, time.Duration(w.SentNS-w.DueNS), int(want))
		}
	}
}

func TestFaultRules(t *testing.T) {
	c := fast()
	c.Faults = []plan.FaultRule{{Fault: plan.FaultHTTP500, Every: 3}}
	s := start(t, c)
	var got []int
	for range 6 {
		status, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x"}`)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	if want := []int{200, 200, 500, 200, 200, 500}; !slices.Equal(got, want) {
		t.Errorf("statuses %d, want %d", got, want)
	}
	for i := range 3 { // the third would fail
		if status, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","sim_fault":"none"}`); status != 200 || err != nil {
			t.Errorf("request %d with sim_fault none: status %d, %v", i, status, err)
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1 and a pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	cert, pool := selfSigned(t)
	c := fast()
	c.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s := start(t, c)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	if !strings.HasPrefix(s.OpenAIURL(), "https://") || !strings.HasPrefix(s.TritonHTTPURL(), "https://") {
		t.Errorf("URLs %s, %s", s.OpenAIURL(), s.TritonHTTPURL())
	}
	for _, f := range []plan.Fault{plan.FaultNone, plan.FaultReset, plan.FaultSlowHeader} {
		resp, err := client.Post(s.OpenAIURL()+"/v1/completions", "", strings.NewReader(fmt.Sprintf(`{"prompt":"x","stream":true,"sim_fault":%q}`, f)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if (err != nil) != (f == plan.FaultReset) || !bytes.Contains(b, []byte("data: {")) {
			t.Errorf("%v: %q, %v", f, b, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	conn, err := grpc.NewClient(s.TritonGRPCAddr(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := pb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), addSubRequest("", 1, 1, 2)); err != nil {
		t.Error(err)
	}
}
