package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that rawCodec wraps
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pa-tools/pa/internal/grpcconn"
	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// garbageMessage is not a valid protobuf message: a field of wire type 7.
var garbageMessage = []byte{0xff, 0xff, 0xff, 0x0f, 0x00}

// grpcServer is Triton's gRPC service. It encodes with the generated code instead of package
// kserve, so that tests can compare the two.
type grpcServer struct {
	pb.UnimplementedGRPCInferenceServiceServer
	s *Server
}

// serveGRPC serves l until the server closes.
func (s *Server) serveGRPC(l net.Listener) {
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}),
		grpc.MaxRecvMsgSize(int(min(s.config.MaxRequestBytes, math.MaxInt32))),
		grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(s.config.HeaderTimeout),
		grpc.UnaryInterceptor(noteUnary),
		grpc.StreamInterceptor(noteStream),
	}
	creds := insecure.NewCredentials()
	if s.config.TLS != nil {
		creds = credentials.NewTLS(s.config.TLS.Clone())
	}
	options = append(options, grpc.Creds(grpcconn.Credentials(creds, h2follow.Config{Header: StreamHeader})))
	s.grpc = grpc.NewServer(options...)
	pb.RegisterGRPCInferenceServiceServer(s.grpc, &grpcServer{s: s})
	l = trackingListener{l, &s.conns, &s.newcomers}
	s.serves.Go(func() { _ = s.grpc.Serve(l) }) // an error says that the server was stopped
}

// A rawCodec sends a *rawMessage unchanged, so that the ledger has the exact bytes.
type rawCodec struct{ encoding.CodecV2 }

type rawMessage struct{ b []byte }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*rawMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(m.b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Name returns "proto", the name of the embedded codec.
func (c rawCodec) Name() string { return "proto" }

func remoteAddr(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// beginGRPC counts a request and opens its ledger entry. receivedNS is its arrival by the
// kernel's clock, 0 if unknown.
func (g *grpcServer) beginGRPC(ctx context.Context, p Protocol, r *pb.ModelInferRequest, receivedNS uint64) (uint64, *ledgerRecord) {
	index := g.s.next.Add(1) - 1
	rec := g.s.ledger.Begin(index, p, remoteAddr(ctx))
	rec.Update(func(e *Entry) {
		e.ID, e.Model, e.RequestBytes, e.ReceivedKernelNS = r.GetId(), r.GetModelName(), proto.Size(r), receivedNS
	})
	g.s.setCounter(r.GetModelName(), rec)
	return index, rec
}

// describe records the plan in the ledger.
func (j *job) describe(rec *ledgerRecord) {
	rec.Update(func(e *Entry) {
		rec.Batch = int(j.batch)
		e.InputTokens, e.OutputTokens, e.Fault = j.plan.InputTokens, j.plan.OutputTokens(), j.plan.Fault.String()
		e.SequenceID, e.SequenceStart, e.SequenceEnd = j.step.id, j.step.start, j.step.end
	})
}

// earlyFault returns the error of a fault that precedes the answer, nil if there is none.
func (j *job) earlyFault() *tritonError {
	switch j.plan.Fault {
	case plan.FaultHTTP500:
		return tritonErrorf(codes.Internal, "the fault http_500 was asked for")
	case plan.FaultHTTP429:
		return tritonErrorf(codes.Unavailable, "the fault http_429 was asked for")
	}
	return nil
}

// ModelInfer answers a request to a model with a single response.
func (g *grpcServer) ModelInfer(ctx context.Context, q *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	s := g.s
	s.inFlight.add()
	defer s.inFlight.done()
	index, rec := g.beginGRPC(ctx, TritonGRPCInfer, q, follow(ctx).received(0))
	refuse := func(e *tritonError) (*pb.ModelInferResponse, error) {
		rec.End(EndError, int(e.code), e.message)
		return nil, status.Error(e.code, e.message)
	}
	j, terr := g.parse(index, q)
	if terr != nil {
		return refuse(terr)
	}
	if j.spec.decoupled {
		return refuse(tritonErrorf(codes.Unimplemented, "model '%s' is decoupled; use ModelStreamInfer", j.model.Name))
	}
	j.describe(rec)
	if e := j.earlyFault(); e != nil {
		return refuse(e)
	}
	gone := func() (*pb.ModelInferResponse, error) {
		rec.End(s.endReason(), int(codes.Canceled), "")
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if s.acquire(ctx) != nil {
		return gone()
	}
	defer s.release()
	rec.Started()
	at := j.plan.FirstTokenAt()
	if sleepUntil(ctx, rec.Start.Add(at)) != nil {
		return gone()
	}
	switch j.plan.Fault {
	case plan.FaultErrorEvent:
		return refuse(tritonErrorf(codes.Internal, "%s", errorEventMessage))
	case plan.FaultReset, plan.FaultTruncate, plan.FaultNoReply:
		s.conns.reset(remoteAddr(ctx))
		rec.End(EndFault, 0, "")
		return nil, status.Error(codes.Unavailable, "the connection is gone")
	case plan.FaultHang, plan.FaultStall:
		<-ctx.Done()
		return gone()
	}
	m := j.message(j.outputs)
	b, err := proto.Marshal(m)
	if err != nil {
		return refuse(tritonErrorf(codes.Internal, "%s", err))
	}
	rec.Sending(plan.Chunk{At: at, Data: b, Events: 1})
	rec.End(EndOK, 0, "")
	return m, nil
}

// parse checks and plans a request.
func (g *grpcServer) parse(index uint64, q *pb.ModelInferRequest) (*job, *tritonError) {
	r, err := requestOf(q)
	if err != nil {
		return nil, tritonErrorf(codes.InvalidArgument, "%s", err)
	}
	return g.s.job(index, r)
}

// message returns a response with these outputs.
func (j *job) message(outputs []kserve.Tensor) *pb.ModelInferResponse {
	m := &pb.ModelInferResponse{ModelName: j.model.Name, ModelVersion: modelVersion, Id: j.id}
	for _, o := range outputs {
		m.Outputs = append(m.Outputs, &pb.ModelInferResponse_InferOutputTensor{
			Name: o.Name, Datatype: string(o.Datatype), Shape: o.Shape,
		})
		m.RawOutputContents = append(m.RawOutputContents, o.Data)
	}
	return m
}

func finalFlag(final bool) map[string]*pb.InferParameter {
	return map[string]*pb.InferParameter{
		kserve.ParamFinal: {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: final}},
	}
}

// requestOf converts a message to the form that both transports share.
func requestOf(q *pb.ModelInferRequest) (*kserve.Request, error) {
	r := &kserve.Request{Model: q.GetModelName(), Version: q.GetModelVersion(), ID: q.GetId()}
	for name, p := range q.GetParameters() {
		v := kserve.Param{Name: name}
		switch c := p.GetParameterChoice().(type) {
		case *pb.InferParameter_BoolParam:
			v.Value = c.BoolParam
		case *pb.InferParameter_Int64Param:
			v.Value = c.Int64Param
		case *pb.InferParameter_Uint64Param:
			v.Value = c.Uint64Param
		case *pb.InferParameter_DoubleParam:
			v.Value = c.DoubleParam
		case *pb.InferParameter_StringParam:
			v.Value = c.StringParam
		default:
			return nil, fmt.Errorf("parameter '%s' has no value", clip(name))
		}
		r.Params = append(r.Params, v)
	}
	raw := q.GetRawInputContents()
	apart := 0 // inputs in shared memory
	for _, in := range q.GetInputs() {
		if sharedOf(in.GetParameters()) != nil {
			apart++
		}
	}
	if len(raw) > 0 && len(raw) != len(q.GetInputs())-apart {
		return nil, fmt.Errorf("%d raw input contents for %d inputs", len(raw), len(q.GetInputs())-apart)
	}
	for _, in := range q.GetInputs() {
		t := kserve.Tensor{Name: in.GetName(), Datatype: kserve.Datatype(in.GetDatatype()), Shape: in.GetShape(), Shared: sharedOf(in.GetParameters())}
		switch {
		case t.Shared != nil:
		case len(raw) == 0:
			t.Data = typedContents(in.GetContents())
		case in.GetContents() != nil:
			return nil, fmt.Errorf("input '%s' has contents of its own beside raw input contents", clip(t.Name))
		default:
			t.Data, raw = raw[0], raw[1:]
		}
		r.Inputs = append(r.Inputs, t)
	}
	for _, o := range q.GetOutputs() {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: o.GetName(), Shared: sharedOf(o.GetParameters())})
	}
	return r, nil
}

// typedContents returns typed contents as raw bytes, for the types that the models accept.
// Other types are rejected by their name before the data is used.
func typedContents(c *pb.InferTensorContents) []byte {
	var b []byte
	for _, v := range c.GetBytesContents() {
		b = kserve.AppendBytes(b, string(v))
	}
	for _, v := range c.GetBoolContents() {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, v := range c.GetIntContents() {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range c.GetUint64Contents() {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, v := range c.GetFp32Contents() {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
