package kserve

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// refusing is a server that refuses one method.
type refusing struct {
	*fakeTriton
	live, ready, metadata, config error
}

func (r *refusing) ServerLive(ctx context.Context, q *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	if r.live != nil {
		return nil, r.live
	}
	return r.fakeTriton.ServerLive(ctx, q)
}

func (r *refusing) ModelReady(ctx context.Context, q *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	if r.ready != nil {
		return nil, r.ready
	}
	return r.fakeTriton.ModelReady(ctx, q)
}

func (r *refusing) ModelMetadata(ctx context.Context, q *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	if r.metadata != nil {
		return nil, r.metadata
	}
	return r.fakeTriton.ModelMetadata(ctx, q)
}

func (r *refusing) ModelConfig(ctx context.Context, q *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	if r.config != nil {
		return nil, r.config
	}
	return r.fakeTriton.ModelConfig(ctx, q)
}

const credential = "Bearer sk-secret-1"

// checkText is the error of Check with HOST for the address.
func checkText(t *testing.T, addr string, p Protocol) string {
	t.Helper()
	b, err := New(Config{URL: addr, Protocol: p, Model: "adder", Headers: http.Header{"Authorization": {credential}}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(fmt.Sprint(b.Check(t.Context())), addr, "HOST", 1)
}

// gzipped returns text compressed by gzip.
func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An HTTP answer that says no is not taken for another protocol.
func TestCheckRefusedHTTP(t *testing.T) {
	const live, model = "/v2/health/live", "/v2/models/adder"
	for _, tt := range []struct {
		path string
		code int
		body string
		want string
	}{
		{live, 401, `{"error":"no token"}`, "HOST: HTTP 401: no token; give -H 'Authorization: …'"},
		{live, 401, "bad " + credential, "HOST: HTTP 401: bad [redacted]; give -H 'Authorization: …'"},
		{live, 403, "", "HOST: HTTP 403; give -H 'Authorization: …'"},
		{live, 429, "slow down", "HOST: the server is at a limit: HTTP 429: slow down"},
		{live, 500, "oops", "HOST: the server fails: HTTP 500: oops"},
		{live, 501, "no", "HOST: the server fails: HTTP 501: no"},
		{live, 502, "<h1>bad\ngateway</h1>", "HOST: the server is not ready: HTTP 502: <h1>bad gateway</h1>"},
		{live, 503, `{"error":"starting"}`, "HOST: the server is not ready: HTTP 503: starting"},
		{live, 504, "", "HOST: the server is not ready: HTTP 504"},
		{live, 404, "not found", "HOST: the server does not speak KServe v2: GET /v2/health/live: HTTP status 404: not found"},
		{live, 405, "", "HOST: the server does not speak KServe v2: GET /v2/health/live: HTTP status 405"},
		{live, 400, "Client sent an HTTP request to an HTTPS server.", "HOST: HTTP 400: Client sent an HTTP request to an HTTPS server.; use https:// in -u"},
		{model, 200, "<html>", `HOST: model "adder": the server does not speak KServe v2: GET /v2/models/adder: the answer is not the JSON expected: invalid character '<' looking for beginning of value; the server offers adder, llm`},
		{model, 401, "who?", `HOST: model "adder": HTTP 401: who?; give -H 'Authorization: …'; the server offers adder, llm`},
		{model, 503, "soon", `HOST: model "adder": the model is not ready: HTTP 503: soon; the server offers adder, llm`},
		{model + "/ready", 403, "", "HOST: HTTP 403; give -H 'Authorization: …'"},
		{model + "/ready", 503, "", `HOST: model "adder" is not ready; is it still loading?`},
		{model + "/config", 500, "oops", `HOST: model "adder": configuration: the model fails: HTTP 500: oops`},
		{model + "/config", 404, "", "<nil>"},
		{live, 429, gzipped(t, `{"error":"quota used up"}`), "HOST: the server is at a limit: HTTP 429: quota used up"},
	} {
		t.Run(fmt.Sprintf("%s %d %s", tt.path, tt.code, tt.body), func(t *testing.T) {
			f := &fakeTriton{models: []fakeModel{llm, adder}}
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tt.path {
					f.ServeHTTP(w, r)
					return
				}
				if strings.HasPrefix(tt.body, "\x1f\x8b") {
					w.Header().Set("Content-Encoding", "gzip")
				}
				w.WriteHeader(tt.code)
				fmt.Fprint(w, tt.body)
			}))
			defer h.Close()
			if got := checkText(t, strings.TrimPrefix(h.URL, "http://"), HTTP); got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCheckRefusedGRPC(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    refusing
		want string
	}{
		{"no token", refusing{live: status.Error(codes.Unauthenticated, "no token")}, "HOST: gRPC Unauthenticated: no token; give -H 'Authorization: …'"},
		{"the credential repeated", refusing{live: status.Error(codes.PermissionDenied, "not for "+credential)}, "HOST: gRPC PermissionDenied: not for [redacted]; give -H 'Authorization: …'"},
		{"the credential at the cut", refusing{live: status.Error(codes.Internal, strings.Repeat("x", 1010)+credential)}, "HOST: the server fails: gRPC Internal: " + strings.Repeat("x", 1010) + "[redacted]"},
		{"no text", refusing{live: status.Error(codes.PermissionDenied, "")}, "HOST: gRPC PermissionDenied; give -H 'Authorization: …'"},
		{"not ready", refusing{live: status.Error(codes.Unavailable, "starting")}, "HOST: the server is not ready: gRPC Unavailable: starting"},
		{"limit", refusing{live: status.Error(codes.ResourceExhausted, "slow down")}, "HOST: the server is at a limit: gRPC ResourceExhausted: slow down"},
		{"not served", refusing{live: status.Error(codes.Unimplemented, "unknown service")}, "HOST: the server does not speak KServe v2: it has no inference.GRPCInferenceService"},
		{"metadata", refusing{metadata: status.Error(codes.Unauthenticated, "who?")}, `HOST: model "adder": gRPC Unauthenticated: who?; give -H 'Authorization: …'; the server offers adder, llm`},
		{"model not available", refusing{metadata: status.Error(codes.Unavailable, "no available versions")}, `HOST: model "adder": the model is not ready: gRPC Unavailable: no available versions; the server offers adder, llm`},
		{"readiness", refusing{ready: status.Error(codes.PermissionDenied, "no")}, "HOST: gRPC PermissionDenied: no; give -H 'Authorization: …'"},
		{"configuration", refusing{config: status.Error(codes.Internal, "oops")}, `HOST: model "adder": configuration: the model fails: gRPC Internal: oops`},
		{"configuration not served", refusing{config: status.Error(codes.Unimplemented, "")}, "<nil>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeTriton{models: []fakeModel{llm, adder}}
			tt.r.fakeTriton = f
			addr := serveGRPC(t, &tt.r)
			if got := checkText(t, addr, GRPC); got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A server that repeats a credential in its answer does not get it into what
// is recorded, and the lengths stay.
func TestDecodeHidesSecrets(t *testing.T) {
	for _, c := range []Config{{Protocol: GRPC, Streaming: true}, {Protocol: GRPC}, {}} {
		for _, fails := range []bool{false, true} {
			name := fmt.Sprintf("%s, streaming %v, fails %v", c.Protocol, c.Streaming, fails)
			text := "got " + credential + " (sk-secret-1)"
			f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
				if fails && c.Streaming {
					send(wire.Response{ID: req.ID, Error: text})
					return nil
				}
				if fails {
					return status.Error(codes.Unauthenticated, text)
				}
				send(wire.Response{ID: req.ID, Outputs: []wire.Tensor{{Name: "SUM", Datatype: wire.BYTES, Shape: []int64{1}, Data: wire.AppendBytes(nil, text)}}})
				return nil
			})
			c.Model, c.Headers = "adder", http.Header{"Authorization": {credential}}
			b := f.open(t, c)
			x := exchange(t.Context(), t, b, openSlot(t, b, 0), prepare(t, b, entry("A", "[1,2]")), 1)
			all := x.Request.Message + "\n"
			for i, raw := range x.Raw {
				all += string(raw) + "\n"
				for _, o := range x.Request.Responses[i].Outputs {
					all += string(o.Value.Data) + "\n"
				}
			}
			if strings.Contains(all, "secret-1") || strings.Contains(all, "Bearer") {
				t.Errorf("%s: the credential shows in\n%s", name, all)
			}
			if want := "got ****************** (***********)"; !fails && string(x.Request.Responses[0].Outputs[0].Value.Data) != want {
				t.Errorf("%s: output %q, want %q", name, x.Request.Responses[0].Outputs[0].Value.Data, want)
			}
			if want := "got [redacted] ([redacted])"; fails && x.Request.Message != want {
				t.Errorf("%s: message %q, want %q", name, x.Request.Message, want)
			}
		}
	}
}

// The texts of HTTP answers in JSON, in whichever way it spells them.
func TestDecodeHidesSecretsJSON(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"error":"got Bearer sk-secret-1"}`, `protocol_error 200 "got ******************" [E]`},
		{`{"outputs":[{"name":"SUM","datatype":"BYTES","shape":[1],"data":["a sk-secret-1 b"]}]}`, "ok 200 [a *********** b]"},
		{`{"outputs":[{"name":"SUM","datatype":"BYTES","shape":[1],"data":["\u0073k-secret-1"]}]}`, "ok 200 [***********]"},
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) }))
		b, err := New(Config{URL: h.URL, Model: "m", Headers: http.Header{"Authorization": {credential}}})
		if err != nil {
			t.Fatal(err)
		}
		b.outputs = []string{"SUM"}
		s := openSlot(t, b, 0)
		x := exchange(t.Context(), t, b, s, &payload{msg: []byte(`"inputs":[]}`), json: 12}, 1)
		if got := show(x); got != tt.want || len(x.Raw[0]) != len(tt.body) {
			t.Errorf("\ngot  %s, %d bytes\nwant %s, %d", got, len(x.Raw[0]), tt.want, len(tt.body))
		}
		h.Close()
	}
}
