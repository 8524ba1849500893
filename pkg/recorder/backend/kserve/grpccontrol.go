package kserve

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// outgoing adds the configured headers to a call.
func (b *Backend) outgoing(ctx context.Context) context.Context {
	if len(b.fixed) == 0 {
		return ctx
	}
	md := metadata.MD{}
	for k, vs := range b.fixed {
		md.Append(k, vs...)
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// grpcControl is the control over gRPC, on a connection of its own.
type grpcControl struct {
	b    *Backend
	conn *stampedClientConn
	rpc  pb.GRPCInferenceServiceClient
}

func (b *Backend) newGRPCControl() (*grpcControl, error) {
	conn, err := b.dial(maxControlBytes)
	if err != nil {
		return nil, err
	}
	return &grpcControl{b, conn, pb.NewGRPCInferenceServiceClient(conn)}, nil
}

// Close implements control.
func (c *grpcControl) Close() error { return c.conn.Close() }

// wrap makes one line of a gRPC error; who is "the server" or "the model". Texts of
// statuses such as an unknown model stay unchanged.
func (c *grpcControl) wrap(who string, err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	text := c.b.clipped(s.Message())
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
		dial := c.conn.failure()
		text, ok := c.b.libraryText(s.Message(), dial)
		if !ok {
			return &refusal{who + " is not ready: " + coded}
		}
		return &textError{c.b.clipped(text), dial}
	}
	if text == "" {
		text = coded
	}
	return &textError{text: text}
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
	return modelInfo{Name: r.GetName(), Inputs: specs(r.GetInputs()), Outputs: specs(r.GetOutputs())}, nil
}

func (c *grpcControl) config(ctx context.Context, model, version string) (m modelConfig, err error) {
	r, err := c.rpc.ModelConfig(c.b.outgoing(ctx), &pb.ModelConfigRequest{Name: model, Version: version})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return m, &noConfigError{c.wrap("the model", err)}
	case err != nil:
		return m, c.wrap("the model", err)
	}
	cfg := r.GetConfig()
	m.Platform, m.Backend, m.MaxBatch = cfg.GetPlatform(), cfg.GetBackend(), int64(cfg.GetMaxBatchSize())
	m.Policy.Decoupled, m.Cache.Enable = cfg.GetModelTransactionPolicy().GetDecoupled(), cfg.GetResponseCache().GetEnable()
	if cfg.GetDynamicBatching() != nil {
		m.Dynamic = &struct{}{}
	}
	if cfg.GetSequenceBatching() != nil {
		m.Sequence = &struct{}{}
	}
	for _, step := range cfg.GetEnsembleScheduling().GetStep() {
		s := ensembleStep{Model: step.GetModelName()}
		if v := step.GetModelVersion(); v >= 0 {
			s.Version = stepVersion(strconv.FormatInt(v, 10))
		}
		m.Ensemble.Step = append(m.Ensemble.Step, s)
	}
	for _, in := range cfg.GetInput() {
		m.Input = append(m.Input, struct {
			Name     string
			Optional bool
		}{in.GetName(), in.GetOptional()})
	}
	return m, nil
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

func (c *grpcControl) trace(ctx context.Context, settings map[string][]string) error {
	q := &pb.TraceSettingRequest{ModelName: c.b.cfg.Model, Settings: map[string]*pb.TraceSettingRequest_SettingValue{}}
	for name, values := range settings {
		q.Settings[name] = &pb.TraceSettingRequest_SettingValue{Value: values}
	}
	_, err := c.rpc.TraceSetting(c.b.outgoing(ctx), q)
	return c.wrap("the server", err)
}

func (c *grpcControl) register(ctx context.Context, name, key string, bytes int64) error {
	_, err := c.rpc.SystemSharedMemoryRegister(c.b.outgoing(ctx), &pb.SystemSharedMemoryRegisterRequest{Name: name, Key: key, ByteSize: uint64(bytes)})
	return c.wrap("the server", err)
}

func (c *grpcControl) unregister(ctx context.Context, name string) error {
	_, err := c.rpc.SystemSharedMemoryUnregister(c.b.outgoing(ctx), &pb.SystemSharedMemoryUnregisterRequest{Name: name})
	return c.wrap("the server", err)
}

// speaksGRPC reports whether a gRPC server answers at the target.
func (b *Backend) speaksGRPC(ctx context.Context) bool {
	c, err := b.newGRPCControl()
	if err != nil {
		return false
	}
	_, err = c.rpc.ServerLive(ctx, &pb.ServerLiveRequest{})
	code := status.Code(err)
	return c.Close() == nil && (err == nil || code == codes.Unimplemented)
}
