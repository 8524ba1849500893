package kserve

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// The texts are from the library's release in go.mod.
func TestLibraryText(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	const port = "; is -u its gRPC port, and does it want TLS (--ssl-grpc-use-ssl)?"
	for _, tt := range []struct {
		name, msg string
		dial      error
		want      string // "": the server's own words
	}{
		{"refused", `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`, refused, "connection refused; is the server running, and is -u right?"},
		{"refused, and trying again", `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`, nil, "no connection: connection refused"},
		{"certificate", `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"`, x509.UnknownAuthorityError{}, "x509: certificate signed by unknown authority; give its certificate with --ssl-grpc-root-certifications-file"},
		{"no greeting", `connection error: desc = "error reading server preface: EOF"`, nil, "the server closed the connection: EOF" + port},
		{"no greeting, reset", `connection error: desc = "error reading server preface: read tcp 127.0.0.1:2->127.0.0.1:1: read: connection reset by peer"`, nil, "the server closed the connection: connection reset by peer" + port},
		{"another protocol", `connection error: desc = "error reading server preface: http2: frame too large"`, nil, "what answers does not speak gRPC (http2: frame too large); is -u the server's gRPC port? (usually 8001)"},
		{"an alert", `connection error: desc = "error reading server preface: remote error: tls: certificate required"`, nil, "tls: certificate required; give a client certificate that the server accepts"},
		{"closed under a write", "write tcp 127.0.0.1:2->127.0.0.1:1: write: broken pipe", nil, "the server closed the connection: broken pipe" + port},
		{"closed under the preface", `connection error: desc = "transport: failed to write client preface: write tcp 127.0.0.1:2->127.0.0.1:1: write: broken pipe"`, nil, "the server closed the connection: broken pipe" + port},
		{"broken", "error reading from server: read tcp 127.0.0.1:2->127.0.0.1:1: read: connection reset by peer", nil, "the connection broke before the end of the answer: connection reset by peer"},
		{"ended", "error reading from server: EOF", nil, "the connection broke before the end of the answer: EOF"},
		{"ended after GOAWAY", `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR, debug data: "x"`, nil, "the connection broke before the end of the answer: EOF"},
		{"closing", `connection error: desc = "transport is closing"`, nil, "the connection is lost: transport is closing"},
		{"draining", "the connection is draining", nil, "the connection is lost: the connection is draining"},
		{"a server's words", "no available versions", nil, ""},
		{"a server's words, while connecting again", "no available versions", refused, ""},
		{"edge: nothing", "", refused, ""},
	} {
		b := &Backend{cfg: Config{Protocol: GRPC}}
		if got, ok := b.libraryText(tt.msg, tt.dial); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", tt.name, got, ok, tt.want)
		}
	}
}

// serveRaw answers the first request of each connection with say, reads on until linger
// is over, and closes the connection.
func serveRaw(t *testing.T, say string, linger time.Duration) (addr string) {
	t.Helper()
	return nettest.StartServer(t, func(c net.Conn) {
		_ = c.SetReadDeadline(time.Now().Add(linger))
		// net/http closes the connection when these bytes come before its request
		// is written to its end, and then says that and not what it read.
		r := bufio.NewReader(c)
		if req, err := http.ReadRequest(r); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(c, say)
		}
		_, _ = io.Copy(io.Discard, r)
	})
}

// listenTLS serves TLS that ends after the handshake.
func listenTLS(t *testing.T, cfg *tls.Config) (addr string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, c, 1) // makes the handshake
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

// Check says what to look at if the server accepts connections and does not answer in time.
func TestCheckWithoutAnswer(t *testing.T) {
	t.Parallel()
	mute := serveRaw(t, "", time.Minute)
	for _, tt := range []struct {
		protocol Protocol
		url, end string
	}{
		{GRPC, mute, ": no answer in time; is -u the server's gRPC port?"},
		{GRPC, "grpcs://" + mute, ": no answer in time; is -u the server's gRPC port, and does it speak TLS?"},
		{HTTP, "https://" + mute, ": no answer in time; is -u the server's HTTP port, and does it speak TLS?"},
	} {
		b, err := New(Config{Protocol: tt.protocol, URL: tt.url, Model: "adder"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err = b.Check(ctx)
		cancel()
		if err == nil || err.Error() != mute+tt.end || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %q", tt.url, err, mute+tt.end)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A failure of a connection is one line that says what to check, both from Check and in the row of
// a request, for each protocol.
func TestConnectionMessages(t *testing.T) {
	t.Parallel()
	answer := func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		send(text(req.ID, "x", final))
		return nil
	}
	plain, secure := startFake(t, answer), startFakeTLS(t, answer)
	h := httptest.NewTLSServer(nil) // for its certificate
	defer h.Close()
	pool := x509.NewCertPool()
	pool.AddCert(h.Certificate())
	strict := serveOn(t, grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: h.TLS.Certificates, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	}))), plain)
	other := &tls.Config{RootCAs: secure.tls.RootCAs, ServerName: "other", MinVersion: tls.VersionTLS12}
	noProtocol := listenTLS(t, &tls.Config{Certificates: h.TLS.Certificates, MinVersion: tls.VersionTLS12})
	ssh := serveRaw(t, "SSH-2.0-x\r\n", time.Minute)
	closing := serveRaw(t, "", 0)
	const closed = "the server closed the connection: "
	for _, tt := range []struct {
		name string
		c    Config
		want []string // in this order
	}{
		{"gRPC, TLS to a plain server", Config{Protocol: GRPC, URL: "grpcs://" + plain.grpcAddr}, []string{"the server does not speak TLS; drop --ssl-grpc-use-ssl, or use grpc:// in -u"}},
		{"HTTP, TLS to a plain server", Config{URL: "https://" + plain.httpAddr}, []string{"the server does not speak TLS; use http:// in -u"}},
		{"gRPC, plain to a server with TLS", Config{Protocol: GRPC, URL: secure.grpcAddr}, []string{closed, "; is -u its gRPC port, and does it want TLS (--ssl-grpc-use-ssl)?"}},
		{"gRPC, unknown authority", Config{Protocol: GRPC, URL: "grpcs://" + secure.grpcAddr}, []string{"certificate signed by unknown authority; give its certificate with --ssl-grpc-root-certifications-file"}},
		{"HTTP, unknown authority", Config{URL: "https://" + secure.httpAddr}, []string{"certificate signed by unknown authority; give its certificate with --ssl-https-ca-certificates-file, or --ssl-https-verify-peer 0"}},
		{"gRPC, another's certificate", Config{Protocol: GRPC, URL: "grpcs://" + secure.grpcAddr, TLS: other}, []string{"not other; use the certificate's name in -u"}},
		{"HTTP, another's certificate", Config{URL: "https://" + secure.httpAddr, TLS: other}, []string{"not other; use the certificate's name in -u, or give --ssl-https-verify-host 0"}},
		{"gRPC, no client certificate", Config{Protocol: GRPC, URL: "grpcs://" + strict, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, []string{"client certificate"}},
		{"gRPC, TLS without HTTP/2", Config{Protocol: GRPC, URL: "grpcs://" + secure.httpAddr, TLS: secure.tls}, []string{"the server speaks TLS without HTTP/2, which gRPC needs; is -u its gRPC port? (usually 8001)"}},
		{"gRPC, TLS that agrees on no protocol", Config{Protocol: GRPC, URL: "grpcs://" + noProtocol, TLS: secure.tls}, []string{"the server speaks TLS without HTTP/2, which gRPC needs; is -u its gRPC port? (usually 8001)"}},
		{"gRPC, another protocol", Config{Protocol: GRPC, URL: ssh}, []string{"what answers does not speak gRPC (http2: ", "); is -u the server's gRPC port? (usually 8001)"}},
		{"HTTP, another protocol", Config{URL: ssh}, []string{"the server does not speak HTTP; is -u its HTTP port?"}},
		{"gRPC, closed at once", Config{Protocol: GRPC, URL: closing}, []string{closed, "; is -u its gRPC port"}},
		{"HTTP, closed at once", Config{URL: closing}, []string{"the connection was closed without an answer: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.c.Model = "adder"
			b, err := New(tt.c)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			check := func(what, got string) {
				t.Helper()
				rest := got
				for _, want := range tt.want {
					_, after, ok := strings.Cut(rest, want)
					if !ok {
						t.Fatalf("%s:\ngot  %s\nwant %q", what, got, tt.want)
					}
					rest = after
				}
				for _, raw := range []string{"desc =", "transport:", "->", tt.want[len(tt.want)-1]} { // nor twice
					if strings.Contains(rest, raw) || raw != tt.want[len(tt.want)-1] && strings.Contains(got, raw) {
						t.Errorf("%s: %q in %s", what, raw, got)
					}
				}
			}
			_, host, _ := strings.Cut("//"+tt.c.URL, "//")
			if i := strings.LastIndex(host, "/"); i >= 0 {
				host = host[i+1:]
			}
			err = b.Check(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), host+": ") {
				t.Fatalf("Check: %v, want %s: …", err, host)
			}
			check("Check", err.Error())
			b.model = modelInfo{Name: "adder", Inputs: adder.inputs, Outputs: adder.outputs, MaxBatch: 8}
			ctx, cancel := context.WithTimeout(t.Context(), longEnough)
			defer cancel()
			r := &exchange(ctx, t, b, openSlot(t, b, 0), prepare(t, b, entry("A", "[1,2]")), 1).Request
			check("request", r.Message)
			if r.Status != export.StatusConnectError && r.Status != export.StatusTruncated && r.Status != export.StatusProtocolError || (r.Status == export.StatusConnectError) != strings.HasPrefix(r.Message, host+": ") {
				t.Errorf("request: %v %s; want connect_error that begins with the server, truncated or protocol_error", r.Status, r.Message)
			}
		})
	}
}

func TestConnectTextOther(t *testing.T) {
	b := &Backend{}
	for _, err := range []error{context.DeadlineExceeded, io.EOF, errProtocol, errors.New("x"), fmt.Errorf("read: %w", os.ErrDeadlineExceeded)} {
		if text := b.connectText(err); text != "" {
			t.Errorf("%v is taken for a failure to connect: %s", err, text)
		}
	}
	unreachable := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
	if text := b.connectText(unreachable); text != "no connection: no route to host" {
		t.Errorf("unreachable: %s", text)
	}
}
