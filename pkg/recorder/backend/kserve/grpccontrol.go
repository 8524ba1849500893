package kserve

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/sockstamp/grpcstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// windowBytes is the static HTTP/2 flow control window of streams and
// connections. Left to itself the library estimates the window and changes it
// in the middle of a run.
const windowBytes = 16 << 20

// A dialError keeps the error of the last attempt to connect: the library
// passes it on as text only.
type dialError struct{ last atomic.Pointer[error] }

func (d *dialError) err() error {
	if p := d.last.Load(); p != nil {
		return *p
	}
	return nil
}

// dial returns a connection that is not yet connected and takes messages of up
// to maxBytes. d may be nil.
func (b *Backend) dial(d *dialError, maxBytes int64) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if b.target.tls {
		creds = credentials.NewTLS(b.tlsConfig())
	}
	dialer := func(ctx context.Context, addr string) (net.Conn, error) {
		var nd net.Dialer
		conn, err := nd.DialContext(ctx, "tcp", addr)
		if d != nil {
			if err != nil {
				d.last.Store(&err)
			} else {
				d.last.Store(nil)
			}
		}
		return conn, err
	}
	if b.cfg.Connections == 0 { // shared connections have several newest streams
		creds = grpcstamp.Credentials(creds, h2follow.Config{})
	}
	// passthrough leaves the name to the dialer, which tries all addresses.
	return grpc.NewClient("passthrough:///"+b.target.host,
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(dialer), // and with that no proxy of the environment
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(maxBytes)), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
}

func (b *Backend) tlsConfig() *tls.Config {
	if b.cfg.TLS != nil {
		return b.cfg.TLS.Clone()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// outgoing adds the configured headers to a call.
func (b *Backend) outgoing(ctx context.Context) context.Context {
	if len(b.cfg.Headers) == 0 {
		return ctx
	}
	md := metadata.MD{}
	for k, vs := range b.cfg.Headers {
		md.Append(k, vs...)
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// grpcControl is the control over gRPC, on a connection of its own.
type grpcControl struct {
	b    *Backend
	conn *grpc.ClientConn
	rpc  pb.GRPCInferenceServiceClient
	dial dialError
}

func (b *Backend) newGRPCControl() (*grpcControl, error) {
	c := &grpcControl{b: b}
	conn, err := b.dial(&c.dial, maxControlBytes)
	if err != nil {
		return nil, err
	}
	c.conn, c.rpc = conn, pb.NewGRPCInferenceServiceClient(conn)
	return c, nil
}

func (c *grpcControl) close() error { return c.conn.Close() }

// An rpcError is a gRPC status as an error of one line that unwraps to the
// error of the dialer, where there was one.
type rpcError struct {
	text string
	dial error
}

func (e *rpcError) Error() string { return e.text }
func (e *rpcError) Unwrap() error { return e.dial }

// wrap makes a gRPC error one line that says what is wrong with who was asked,
// "the server" or "the model". The texts of other statuses, such as that of an
// unknown model, speak for themselves.
func (c *grpcControl) wrap(who string, err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	text := c.b.clip(s.Message())
	coded := "gRPC " + s.Code().String()
	if text != "" {
		coded += ": " + text
	}
	switch s.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return &refusal{coded + credentialsHint}
	case codes.ResourceExhausted:
		return &refusal{who + " is at a limit: " + coded}
	case codes.Internal, codes.DataLoss:
		return &refusal{who + " fails: " + coded}
	case codes.Unavailable:
		dial := c.dial.err()
		if dial == nil && !strings.HasPrefix(text, "connection error") { // the library's own words
			return &refusal{who + " is not ready: " + coded}
		}
		return &rpcError{text, dial}
	}
	if text == "" {
		text = coded
	}
	return &rpcError{text: text}
}

func (c *grpcControl) live(ctx context.Context) error {
	r, err := c.rpc.ServerLive(c.b.outgoing(ctx), &pb.ServerLiveRequest{})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return fmt.Errorf("%w: it has no inference.GRPCInferenceService", errNotServed)
	case err != nil:
		return c.wrap("the server", err)
	case !r.GetLive():
		return &refusal{"the server says that it is not live"}
	}
	return nil
}

func (c *grpcControl) ready(ctx context.Context) (bool, error) {
	r, err := c.rpc.ModelReady(c.b.outgoing(ctx), &pb.ModelReadyRequest{Name: c.b.cfg.Model, Version: c.b.cfg.Version})
	return r.GetReady(), c.wrap("the model", err)
}

func (c *grpcControl) metadata(ctx context.Context) (modelInfo, error) {
	r, err := c.rpc.ModelMetadata(c.b.outgoing(ctx), &pb.ModelMetadataRequest{Name: c.b.cfg.Model, Version: c.b.cfg.Version})
	if err != nil {
		return modelInfo{}, c.wrap("the model", err)
	}
	specs := func(ts []*pb.ModelMetadataResponse_TensorMetadata) []tensorSpec {
		out := make([]tensorSpec, len(ts))
		for i, t := range ts {
			out[i] = tensorSpec{Name: t.GetName(), Datatype: wire.Datatype(t.GetDatatype()), Shape: t.GetShape()}
		}
		return out
	}
	return modelInfo{Name: r.GetName(), Versions: r.GetVersions(), Inputs: specs(r.GetInputs()), Outputs: specs(r.GetOutputs())}, nil
}

func (c *grpcControl) config(ctx context.Context) (modelConfig, error) {
	r, err := c.rpc.ModelConfig(c.b.outgoing(ctx), &pb.ModelConfigRequest{Name: c.b.cfg.Model, Version: c.b.cfg.Version})
	if status.Code(err) == codes.Unimplemented {
		return modelConfig{}, errNoConfig
	}
	if err != nil {
		return modelConfig{}, c.wrap("the model", err)
	}
	m := r.GetConfig()
	out := modelConfig{
		maxBatch:  int(max(m.GetMaxBatchSize(), 0)),
		decoupled: m.GetModelTransactionPolicy().GetDecoupled(),
	}
	for _, in := range m.GetInput() {
		if in.GetOptional() {
			out.optional = append(out.optional, in.GetName())
		}
	}
	return out, nil
}

func (c *grpcControl) index(ctx context.Context) ([]string, error) {
	r, err := c.rpc.RepositoryIndex(c.b.outgoing(ctx), &pb.RepositoryIndexRequest{})
	if err != nil {
		return nil, c.wrap("the model", err)
	}
	var all []string
	for _, m := range r.GetModels() {
		all = append(all, m.GetName())
	}
	return all, nil
}

// speaksGRPC reports whether a gRPC server answers at the target.
func (b *Backend) speaksGRPC(ctx context.Context) bool {
	c, err := b.newGRPCControl()
	if err != nil {
		return false
	}
	_, err = c.rpc.ServerLive(ctx, &pb.ServerLiveRequest{})
	code := status.Code(err)
	return c.close() == nil && (err == nil || code == codes.Unimplemented)
}
