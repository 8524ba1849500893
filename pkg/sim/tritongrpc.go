package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that rawCodec wraps
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/grpcstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// garbageMessage is no protobuf message: a field of wire type 7.
var garbageMessage = []byte{0xff, 0xff, 0xff, 0x0f, 0x00}

// grpcServer is Triton's gRPC service. It encodes with the generated code, not
// with package kserve, so that the two can be tested against each other.
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
	}
	creds := insecure.NewCredentials()
	if s.config.TLS != nil {
		creds = credentials.NewTLS(s.config.TLS.Clone())
	}
	options = append(options, grpc.Creds(grpcstamp.Credentials(creds, h2follow.Config{})))
	s.grpc = grpc.NewServer(options...)
	pb.RegisterGRPCInferenceServiceServer(s.grpc, &grpcServer{s: s})
	l = trackingListener{l, &s.conns}
	s.serves.Go(func() { _ = s.grpc.Serve(l) }) // an error says that the server was stopped
}

// A rawCodec sends *rawMessage as it is, so that the ledger has the very bytes.
type rawCodec struct{ encoding.CodecV2 }

type rawMessage struct{ b []byte }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*rawMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(m.b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Name is "proto", as that of the codec inside.
func (c rawCodec) Name() string { return "proto" }

func remoteAddr(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// beginGRPC counts a request and opens its ledger entry.
func (g *grpcServer) beginGRPC(ctx context.Context, p Protocol, r *pb.ModelInferRequest) (uint64, *record) {
	index := g.s.next.Add(1) - 1
	rec := g.s.ledger.begin(index, p, remoteAddr(ctx))
	rec.update(func(e *Entry) { e.ID, e.Model, e.RequestBytes = r.GetId(), r.GetModelName(), proto.Size(r) })
	return index, rec
}

// describe enters what is planned into the ledger.
func (j *job) describe(rec *record) {
	rec.update(func(e *Entry) {
		e.InputTokens, e.OutputTokens, e.Fault = j.plan.inputTokens, j.plan.outputTokens(), j.plan.fault.String()
	})
}

// atOnce returns the error of the faults that precede the answer.
func (j *job) atOnce() *tritonError {
	switch j.plan.fault {
	case FaultHTTP500:
		return tritonErrorf(codes.Internal, "the fault http_500 was asked for")
	case FaultHTTP429:
		return tritonErrorf(codes.Unavailable, "the fault http_429 was asked for")
	}
	return nil
}

// ModelInfer answers a request to a model that answers once.
func (g *grpcServer) ModelInfer(ctx context.Context, q *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	s := g.s
	s.busy.add()
	defer s.busy.done()
	index, rec := g.beginGRPC(ctx, TritonGRPCInfer, q)
	defer s.count(q.GetModelName(), rec)
	refuse := func(e *tritonError) (*pb.ModelInferResponse, error) {
		rec.end(EndError, int(e.code), e.message)
		return nil, status.Error(e.code, e.message)
	}
	j, terr := g.understand(index, q)
	if terr != nil {
		return refuse(terr)
	}
	if j.model.Interface != AddSub {
		return refuse(tritonErrorf(codes.Unimplemented, "model '%s' is decoupled; use ModelStreamInfer", j.model.Name))
	}
	j.describe(rec)
	if e := j.atOnce(); e != nil {
		return refuse(e)
	}
	gone := func() (*pb.ModelInferResponse, error) {
		rec.end(s.giveUp(), int(codes.Canceled), "")
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if s.acquire(ctx) != nil {
		return gone()
	}
	defer s.release()
	rec.started()
	at := j.plan.ttftDelay()
	if sleepUntil(ctx, rec.start.Add(at)) != nil {
		return gone()
	}
	switch j.plan.fault {
	case FaultErrorEvent:
		return refuse(tritonErrorf(codes.Internal, "%s", errorEventMessage))
	case FaultReset, FaultTruncate, FaultNoReply:
		s.conns.reset(remoteAddr(ctx))
		rec.end(EndFault, 0, "")
		return nil, status.Error(codes.Unavailable, "the connection is gone")
	case FaultHang, FaultStall:
		<-ctx.Done()
		return gone()
	}
	m := j.message(j.outputs)
	b, err := proto.Marshal(m)
	if err != nil {
		return refuse(tritonErrorf(codes.Internal, "%s", err))
	}
	rec.sending(write{at: at, data: b, events: 1})
	rec.end(EndOK, 0, "")
	return m, nil
}

// understand checks and plans a request.
func (g *grpcServer) understand(index uint64, q *pb.ModelInferRequest) (*job, *tritonError) {
	r, err := requestOf(q)
	if err != nil {
		return nil, tritonErrorf(codes.InvalidArgument, "%s", err)
	}
	return g.s.job(index, r)
}

// ModelStreamInfer answers each request of the stream with its own pace.
func (g *grpcServer) ModelStreamInfer(stream grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	t := &inferStream{g: g, ctx: ctx, stream: stream, over: make(chan error, 1)}
	if f, ok := grpcstamp.FromContext(ctx); ok {
		t.follower, t.number = f, f.Newest()
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		v := md.Get("triton_grpc_error")
		t.statusErrors = len(v) > 0 && v[0] == "true"
	}
	received := make(chan error, 1)
	// Recv returns when the client has ended its side, or when this handler has
	// returned; so the server waits for the goroutine, not the handler.
	g.s.serves.Go(func() {
		for {
			q, err := stream.Recv()
			if err != nil {
				received <- err
				return
			}
			t.begin(q)
		}
	})
	var err error
	select {
	case err = <-received:
		if errors.Is(err, io.EOF) {
			answered := make(chan struct{})
			g.s.serves.Go(func() { t.running.Wait(); close(answered) })
			select {
			case <-answered:
				err = t.ended()
			case err = <-t.over:
			}
		}
	case err = <-t.over:
	}
	cancel()
	t.close()
	return err
}

// An inferStream is one ModelStreamInfer call. Many requests share it.
type inferStream struct {
	g            *grpcServer
	ctx          context.Context // of the call
	stream       grpc.ServerStream
	statusErrors bool       // errors end the stream with a status
	over         chan error // ends the stream; the first counts

	running sync.WaitGroup // requests; none is added once closed
	mu      sync.Mutex     // guards closed
	closed  bool
	sending sync.Mutex // held while a message is handed over; guards the rest
	sent    int        // messages
	last    *record    // whose write write the last message is
	write   int

	// follower sees when the kernel let messages go; nil: unknown.
	follower *h2follow.Follower
	number   uint32 // of the HTTP/2 stream
}

// begin starts to serve a request.
func (t *inferStream) begin(q *pb.ModelInferRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.g.s.busy.add()
	index, rec := t.g.beginGRPC(t.ctx, TritonGRPCStream, q)
	t.running.Go(func() {
		defer t.g.s.busy.done()
		defer t.g.s.count(q.GetModelName(), rec)
		t.serve(index, rec, q)
	})
}

// close waits for the requests; none begins any more.
func (t *inferStream) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
	t.sending.Lock()
	defer t.sending.Unlock()
	t.stampLast()
}

// end ends the stream with a status, nil for OK.
func (t *inferStream) end(err error) {
	select {
	case t.over <- err:
	default:
	}
}

// ended returns the status that a request wanted the stream to end with, nil if
// none did.
func (t *inferStream) ended() error {
	select {
	case err := <-t.over:
		return err
	default:
		return nil
	}
}

// send hands one message over. Only one may do so at a time.
func (t *inferStream) send(rec *record, w write) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.stampLast()
	number := rec.sending(w)
	err := t.ctx.Err()
	if err == nil {
		err = t.stream.SendMsg(&rawMessage{w.data})
	}
	if err != nil {
		rec.unsent()
		return err
	}
	t.last, t.write = rec, number
	t.sent++
	return nil
}

// stampLast notes when the kernel let the last message go: by the time of the
// next one it did. The library writes messages some time after SendMsg.
func (t *inferStream) stampLast() {
	if t.last == nil || t.follower == nil {
		return
	}
	if _, sent, ok := t.follower.Sent(t.number, t.sent-1); ok && sent.Source == sockstamp.Kernel {
		t.last.left(t.write, sent.NS)
	}
	t.last = nil
}

// refuse answers a request with an error.
func (t *inferStream) refuse(rec *record, q *pb.ModelInferRequest, e *tritonError, at time.Duration) {
	if t.statusErrors {
		rec.end(EndError, int(e.code), e.message)
		t.end(status.Error(e.code, e.message))
		return
	}
	_ = t.send(rec, write{at: at, data: failure(q, e.message), events: 1}) // a client that is gone needs no answer
	rec.end(EndError, int(e.code), e.message)
}

// failure is a message with an error.
func failure(q *pb.ModelInferRequest, message string) []byte {
	b, err := proto.Marshal(&pb.ModelStreamInferResponse{
		ErrorMessage: strings.ToValidUTF8(message, "\ufffd"),
		InferResponse: &pb.ModelInferResponse{
			ModelName: q.GetModelName(), ModelVersion: modelVersion, Id: q.GetId(), Parameters: finalFlag(true),
		},
	})
	if err != nil {
		panic(err) // all strings are UTF-8: the others came in a message
	}
	return b
}

func (t *inferStream) serve(index uint64, rec *record, q *pb.ModelInferRequest) {
	s := t.g.s
	j, terr := t.g.understand(index, q)
	if terr != nil {
		t.refuse(rec, q, terr, 0)
		return
	}
	j.describe(rec)
	p := j.plan
	gone := func(err error) { rec.end(s.giveUp(), int(codes.Canceled), errorText(err)) }
	if e := j.atOnce(); e != nil {
		t.refuse(rec, q, e, 0)
		return
	}
	if p.fault == FaultNoReply {
		rec.end(EndFault, 0, "")
		s.conns.reset(remoteAddr(t.ctx))
		return
	}
	if p.fault == FaultHang {
		<-t.ctx.Done()
		gone(nil)
		return
	}
	if err := s.acquire(t.ctx); err != nil {
		gone(err)
		return
	}
	defer s.release()
	rec.started()
	w := wire{garbage: garbageMessage, failure: func() []byte {
		if t.statusErrors {
			return nil // nothing is written
		}
		return failure(q, errorEventMessage)
	}}
	render := func(outputs []kserve.Tensor, final bool) []byte {
		m := &pb.ModelStreamInferResponse{InferResponse: j.message(outputs)}
		m.InferResponse.Parameters = finalFlag(final)
		b, err := proto.Marshal(m)
		if err != nil {
			panic(err) // the strings came in a message; the text is bytes
		}
		return b
	}
	for w := range script(j.events(render), p.fault, p.faultAfter, w) {
		err := sleepUntil(t.ctx, rec.start.Add(w.at))
		if err == nil && w.data != nil {
			err = t.send(rec, w)
		}
		if err != nil {
			gone(err)
			return
		}
		switch w.then {
		case reset:
			rec.end(EndFault, 0, "")
			s.conns.reset(remoteAddr(t.ctx))
			return
		case truncate:
			rec.end(EndFault, 0, "")
			t.end(nil)
			return
		case stall:
			<-t.ctx.Done()
			gone(nil)
			return
		}
	}
	if p.fault == FaultErrorEvent {
		rec.end(EndError, int(codes.Internal), errorEventMessage)
		if t.statusErrors {
			t.end(status.Error(codes.Internal, errorEventMessage))
		}
		return
	}
	rec.end(EndOK, 0, "")
}

// message makes a response of outputs.
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

// requestOf turns a message into the form that both transports share.
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
	if len(raw) > 0 && len(raw) != len(q.GetInputs()) {
		return nil, fmt.Errorf("%d raw input contents for %d inputs", len(raw), len(q.GetInputs()))
	}
	for i, in := range q.GetInputs() {
		t := kserve.Tensor{Name: in.GetName(), Datatype: kserve.Datatype(in.GetDatatype()), Shape: in.GetShape()}
		switch {
		case len(raw) == 0:
			t.Data = typedContents(in.GetContents())
		case in.GetContents() != nil:
			return nil, fmt.Errorf("input '%s' has contents of its own beside raw input contents", clip(t.Name))
		default:
			t.Data = raw[i]
		}
		r.Inputs = append(r.Inputs, t)
	}
	for _, o := range q.GetOutputs() {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: o.GetName()})
	}
	return r, nil
}

// typedContents returns typed contents as raw bytes, for the types that the
// models take; other types are refused by name before anyone looks at the data.
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
