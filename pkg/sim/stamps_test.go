package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

func nowNS() uint64 { return uint64(time.Now().UnixNano()) }

// eachTransport runs do over HTTP/1.1, over TLS, and over HTTP/2. shared is true for HTTP/2.
func eachTransport(t *testing.T, do func(t *testing.T, c Config, client *http.Client, shared bool)) {
	cert, pool := selfSigned(t)
	for _, how := range []string{"plain", "TLS", "HTTP/2"} {
		t.Run(how, func(t *testing.T) {
			c := fast()
			tr := &http.Transport{}
			switch how {
			case "TLS":
				c.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
				tr.TLSClientConfig = &tls.Config{RootCAs: pool}
			case "HTTP/2":
				tr.Protocols = new(http.Protocols)
				tr.Protocols.SetUnencryptedHTTP2(true)
			}
			defer tr.CloseIdleConnections()
			do(t, c, &http.Client{Transport: tr}, how == "HTTP/2")
		})
	}
}

// fetch posts a body and returns the answer and the time when it was complete.
func fetch(t *testing.T, client *http.Client, url, body string) ([]byte, uint64) {
	t.Helper()
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err != nil {
		t.Fatalf("status %d, %v: %s", resp.StatusCode, err, b)
	}
	return b, nowNS()
}

// The kernel's times agree with the order of events. A request arrives after the client
// sent it and before the work on it begins. A write leaves after SentNS and before the
// client has the whole answer.
func TestKernelTimesHTTP(t *testing.T) {
	known := nettest.KernelStamps(t)
	eachTransport(t, func(t *testing.T, c Config, client *http.Client, shared bool) {
		kernel := known && !shared
		for _, sends := range []bool{true, false} {
			c.KernelSends, c.OutputTokens = sends, plan.ConstantLength(200)
			s := start(t, c)
			for _, row := range []struct{ name, path, body string }{
				{"stream", "/v1/chat/completions", `{"messages":[{"content":"x"}],"stream":true,"max_tokens":200}`},
				{"on the same connection", "/v1/completions", `{"prompt":"x","stream":true}`},
				{"a request of several segments", "/v1/completions", `{"prompt":"` + strings.Repeat("x ", 60000) + `","stream":true,"max_tokens":2}`},
				{"whole", "/v1/completions", `{"prompt":"x","max_tokens":3}`},
				{"slow header, so without net/http", "/v1/completions", `{"prompt":"x","stream":true,"max_tokens":3,"sim_fault":"slow_header"}`},
			} {
				before := nowNS()
				_, after := fetch(t, client, s.OpenAIURL()+row.path, row.body)
				e := last(t, s)
				if kernel && (e.ReceivedKernelNS < before || e.ReceivedKernelNS > e.StartedNS) || !kernel && e.ReceivedKernelNS != 0 {
					t.Errorf("%s: sent after %d, arrived %d, begun %d", row.name, before, e.ReceivedKernelNS, e.StartedNS)
				}
				stamped, want := 0, kernel && sends
				for i, w := range e.Writes {
					if w.KernelNS == 0 {
						continue // when the client is slow to acknowledge, TCP holds writes back and joins them
					}
					stamped++
					if w.KernelNS < w.SentNS || w.KernelNS > after {
						t.Errorf("%s: write %d of %d: handed over %d, left %d, all read %d", row.name, i, len(e.Writes), w.SentNS, w.KernelNS, after)
					}
				}
				// No data is in flight before the first write, so it leaves at once.
				if !want && stamped > 0 || want && e.Writes[0].KernelNS == 0 {
					t.Errorf("%s, kernel sends %v: %d of %d writes have a stamp", row.name, sends, stamped, len(e.Writes))
				}
			}
		}
	})
}

// Each request and message has its own kernel time: several on one stream, and on two named
// streams that share a connection. Unnamed streams on a shared connection have no times.
func TestKernelTimesGRPC(t *testing.T) {
	kernel := nettest.KernelStamps(t)
	c := fast()
	c.ITL = plan.ConstantDelay(2 * time.Millisecond)
	s := start(t, c)
	conn, err := grpc.NewClient(s.TritonGRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewGRPCInferenceServiceClient(conn)
	type open struct {
		pb.GRPCInferenceService_ModelStreamInferClient
		sent, answered []uint64
	}
	// once sends a request on a stream and reads its answer.
	once := func(o *open, id string) {
		t.Helper()
		o.sent = append(o.sent, nowNS())
		if err := o.Send(textRequest(id, "x", `{"max_tokens":3}`, true, nil)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := o.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		o.answered = append(o.answered, nowNS())
	}
	begin := func(name string) *open {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		if name != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, StreamHeader, name)
		}
		stream, err := client.ModelStreamInfer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return &open{GRPCInferenceService_ModelStreamInferClient: stream}
	}
	check := func(e Entry, sent, answered uint64, want bool) {
		t.Helper()
		if want && (e.ReceivedKernelNS < sent || e.ReceivedKernelNS > e.StartedNS) || !want && e.ReceivedKernelNS != 0 {
			t.Errorf("%s: sent after %d, arrived %d, begun %d", e.ID, sent, e.ReceivedKernelNS, e.StartedNS)
		}
		for i, w := range e.Writes {
			if i > 0 && w.KernelNS == 0 {
				continue // as over HTTP
			}
			if want && (w.KernelNS < w.SentNS || w.KernelNS > answered) || !want && w.KernelNS != 0 {
				t.Errorf("%s: message %d: handed over %d, left %d, all read %d", e.ID, i, w.SentNS, w.KernelNS, answered)
			}
		}
	}

	alone := begin("")
	once(alone, "alone 0")
	once(alone, "alone 1")
	a, b := begin("a"), begin("b")
	once(a, "a 0")
	once(b, "b 0")
	once(a, "a 1")
	unnamed := begin("")
	once(unnamed, "unnamed")
	for _, o := range []*open{alone, a, b, unnamed} {
		// The stamp of the last message may not come before the stream ends.
		if err := o.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Recv(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	entries := map[string]Entry{}
	for _, e := range settled(t, s) {
		entries[e.ID] = e
	}
	for k, id := range []string{"alone 0", "alone 1"} {
		check(entries[id], alone.sent[k], alone.answered[k], kernel)
	}
	for k, id := range []string{"a 0", "a 1"} {
		check(entries[id], a.sent[k], a.answered[k], kernel)
	}
	check(entries["b 0"], b.sent[0], b.answered[0], kernel)
	check(entries["unnamed"], 0, 0, false)

	// A unary call has only the time of its arrival.
	for _, name := range []string{"u", ""} {
		ctx := t.Context()
		if name != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, StreamHeader, name)
		}
		before := nowNS()
		if _, err := client.ModelInfer(ctx, addSubRequest("unary "+name, 1, 1, 2)); err != nil {
			t.Fatal(err)
		}
		e := last(t, s)
		if after := nowNS(); kernel && (e.ReceivedKernelNS < before || e.ReceivedKernelNS > after) {
			t.Errorf("unary %q: sent after %d, arrived %d, answered before %d", name, before, e.ReceivedKernelNS, after)
		}
	}
}

var stampToken = regexp.MustCompile(` (\d{19})\b`)

// stampsOf returns the times that the tokens of a text show.
func stampsOf(t *testing.T, b []byte) []uint64 {
	t.Helper()
	var all []uint64
	for _, m := range stampToken.FindAllSubmatch(b, -1) {
		ns, err := strconv.ParseUint(string(m[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ns)
	}
	return all
}

// Each token shows the time of its write, both in the client's bytes and in the ledger.
func TestStampVocabulary(t *testing.T) {
	eachTransport(t, func(t *testing.T, c Config, client *http.Client, _ bool) {
		c.Vocabulary, c.OutputTokens = plan.Stamp, plan.ConstantLength(20)
		s := start(t, c)
		for _, row := range []struct {
			name, path, body string
			large            bool // a write is larger than wholeWriteBytes
		}{
			{name: "chat", path: "chat/completions", body: `{"messages":[{"content":"x"}],"stream":true}`},
			{name: "completions", path: "completions", body: `{"prompt":"x","stream":true}`},
			{name: "two choices", path: "completions", body: `{"prompt":"x","stream":true,"n":2,"max_tokens":10}`},
			{name: "merged", path: "completions", body: `{"prompt":"x","stream":true,"sim_fault":"merged"}`},
			{name: "in one write", path: "completions", body: `{"prompt":"x","stream":true,"sim_fault":"oneshot"}`, large: true},
			{name: "whole", path: "chat/completions", body: `{"messages":[{"content":"x"}]}`},
			{name: "large and whole", path: "completions", body: `{"prompt":"x","n":20}`, large: true},
		} {
			tokens := 20
			if row.name == "large and whole" {
				tokens = 400
			}
			before := nowNS()
			body, after := fetch(t, client, s.OpenAIURL()+"/v1/"+row.path, row.body)
			got := stampsOf(t, body)
			if len(got) != tokens || !slices.IsSorted(got) || got[0] < before || got[len(got)-1] > after {
				t.Errorf("%s: %d tokens, want %d, in order and between %d and %d: %s", row.name, len(got), tokens, before, after, body)
			}
			e := last(t, s)
			if !bytes.Equal(e.Sent(), body) {
				t.Errorf("%s: received\n%s, in the ledger is\n%s", row.name, body, e.Sent())
			}
			for i, w := range e.Writes {
				for _, ns := range stampsOf(t, w.Data) {
					if ns > w.SentNS || ns < w.SentNS && !row.large {
						t.Errorf("%s: write %d: the token is %d, it was sent at %d", row.name, i, ns, w.SentNS)
					}
				}
			}
		}
	})
}

// LedgerHashOnly hashes the bytes as sent, with their times. LedgerTimesOnly keeps neither
// bytes nor hashes.
func TestStampVocabularyHashed(t *testing.T) {
	c := fast()
	c.Vocabulary, c.LedgerHashOnly = plan.Stamp, true
	s := start(t, c)
	_, body, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","stream":true}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, event := range bytes.SplitAfter(bytes.TrimSuffix(body, []byte("\n\n")), []byte("\n\n")) {
		if i == len(last(t, s).Writes)-1 {
			event = append(event, "\n\n"...)
		}
		sum := sha256.Sum256(event)
		if w := last(t, s).Writes[i]; w.SHA256 != hex.EncodeToString(sum[:]) || w.Data != nil {
			t.Errorf("write %d is %q: %+v", i, event, w)
		}
	}

	c.LedgerHashOnly, c.LedgerTimesOnly = false, true
	s = start(t, c)
	if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","stream":true}`); err != nil {
		t.Fatal(err)
	}
	e := last(t, s)
	for i, w := range e.Writes {
		if w.SHA256 != "" || w.Data != nil || w.Bytes == 0 || w.SentNS == 0 {
			t.Errorf("write %d: %+v", i, w)
		}
	}
	if len(e.Writes) != 9 {
		t.Errorf("%d writes, want 9", len(e.Writes))
	}
}

// Triton's texts show send times too. Over gRPC, the time is read before the library
// gets the message.
func TestStampVocabularyTriton(t *testing.T) {
	c := fast()
	c.Vocabulary = plan.Stamp
	s := start(t, c)
	before := nowNS()
	all, err := exchangeAll(t.Context(), t, dial(t, s), textRequest("a", "x", `{"max_tokens":3}`, true, nil))
	if err != nil || len(all) != 3 {
		t.Fatalf("%d responses, %v", len(all), err)
	}
	for i, m := range all {
		text, _, _ := kserve.NextBytes(m.GetInferResponse().GetRawOutputContents()[0])
		got := stampsOf(t, append(text, '\n'))
		w := last(t, s).Writes[i]
		if len(got) != 1 || got[0] < before || got[0] > w.SentNS || !bytes.Contains(w.Data, text) {
			t.Errorf("message %d is %q; asked at %d, sent at %d", i, text, before, w.SentNS)
		}
	}
	_, body, err := post(t, s.TritonHTTPURL()+"/v2/models/vllm/generate_stream", `{"text_input":"x","stream":true,"max_tokens":3}`)
	if got := stampsOf(t, body); err != nil || len(got) != 3 || got[2] != last(t, s).Writes[2].SentNS {
		t.Errorf("generate_stream: %d, %v: %s", got, err, body)
	}
}

// BenchmarkEvents measures the cost of an event for the server and a client together, at full
// speed.
func BenchmarkEvents(b *testing.B) {
	for _, row := range []struct {
		name   string
		change func(*Config)
	}{
		{"bytes", func(*Config) {}},
		{"times", func(c *Config) { c.LedgerTimesOnly = true }},
		{"stamp", func(c *Config) { c.LedgerTimesOnly, c.Vocabulary = true, plan.Stamp }},
		{"kernel", func(c *Config) { c.LedgerTimesOnly, c.KernelSends = true, true }},
		{"none", func(c *Config) { c.LedgerLimit = -1 }},
	} {
		b.Run("ledger="+row.name, func(b *testing.B) {
			c := fast()
			c.LedgerLimit = 1
			row.change(&c)
			s, err := Start(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr}
			b.ReportAllocs()
			for n := 0; n < b.N; {
				k := min(b.N-n, 10000)
				resp, err := client.Post(s.OpenAIURL()+"/v1/chat/completions", "application/json",
					strings.NewReader(fmt.Sprintf(`{"messages":[{"content":"x"}],"stream":true,"max_tokens":%d,"ignore_eos":true,"ttft_ms":0,"itl_ms":0}`, k)))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
				n += k
			}
		})
	}
}
