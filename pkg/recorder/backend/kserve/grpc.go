package kserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

var (
	streamDesc = &grpc.StreamDesc{StreamName: "ModelStreamInfer", ServerStreams: true, ClientStreams: true}
	unaryDesc  = &grpc.StreamDesc{StreamName: "ModelInfer"}
)

// A grpcSender is the sender of one slot over gRPC.
type grpcSender struct {
	b      *Backend
	name   string             // of the slot, on shared connections
	conn   *stampedClientConn // nil: each request has its own
	clock  *rxclock.Clock
	stream *stream // nil: to be opened; unary requests have none
	in     incoming
	out    outgoing
	mem    backend.AnswerMemory

	outputs *outputs // in shared memory; nil: in the answers
	asked   []byte   // the request fields for them
}

// newGRPCSender returns a sender whose outputs come in shared memory if out is not nil.
func newGRPCSender(b *Backend, slot int, clock *rxclock.Clock, conn *stampedClientConn, out *outputs) *grpcSender {
	s := &grpcSender{b: b, conn: conn, clock: clock, outputs: out}
	if b.cfg.Connections > 0 {
		s.name = strconv.Itoa(slot)
	}
	if out != nil {
		for _, asked := range out.asked {
			s.asked = wire.AppendProtoOutput(s.asked, asked)
		}
	}
	return s
}

// A stream is an open ModelStreamInfer call. It outlives requests, so it has its own
// context, which cancel ends.
type stream struct {
	grpc.ClientStream
	cancel context.CancelFunc
	stamps streamStamps
}

// warm waits until the connection is made and opens the stream.
func (s *grpcSender) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.b.cfg.CheckTimeout)
	defer cancel()
	s.conn.Connect()
	for st := s.conn.GetState(); st != connectivity.Ready; st = s.conn.GetState() {
		if st == connectivity.Shutdown || !s.conn.WaitForStateChange(ctx, st) {
			err := s.conn.failure()
			if err == nil {
				return fmt.Errorf("no gRPC connection within %v: %w", s.b.cfg.CheckTimeout, context.Cause(ctx))
			}
			text, _ := backend.ConnectMessage(err, s.b.advice())
			return &textError{fmt.Sprintf("no gRPC connection within %v: %s", s.b.cfg.CheckTimeout, text), err}
		}
	}
	if !s.b.cfg.Streaming {
		return nil
	}
	return s.open(ctx)
}

// open opens the stream; ctx bounds the opening only.
func (s *grpcSender) open(ctx context.Context) error {
	sctx, cancel := context.WithCancel(s.outgoing(context.Background()))
	stop := context.AfterFunc(ctx, cancel)
	cs, err := s.conn.NewStream(sctx, streamDesc, pb.GRPCInferenceService_ModelStreamInfer_FullMethodName, grpc.ForceCodecV2(codec{}))
	if !stop() || err != nil {
		cancel()
		if err == nil {
			err = ctx.Err()
		}
		return err
	}
	s.stream = &stream{ClientStream: cs, cancel: cancel, stamps: streamStamps{name: s.name}}
	return nil
}

// outgoing adds the configured headers and the slot's name to a call.
func (s *grpcSender) outgoing(ctx context.Context) context.Context {
	ctx = s.b.outgoing(ctx)
	if s.name != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, slotHeader, s.name)
	}
	return ctx
}

// drop ends the stream; the next request opens another.
func (s *grpcSender) drop() {
	if s.stream != nil {
		s.stream.cancel()
		s.stream.stamps.forget()
		s.stream = nil
	}
}

// hangUp replaces the slot's own connection after an answer without end or without an end in
// time. The server may have sent megabytes on it that are not read yet, and reading them would
// take time from the other streams; or it may not read what the next request would write.
func (s *grpcSender) hangUp() {
	if s.b.cfg.Connections > 0 || s.b.cfg.Reuse == backend.Fresh {
		return
	}
	c, err := s.b.dial(s.b.cfg.MaxAnswerMemory)
	if err != nil {
		return // the old connection works, too
	}
	_ = s.conn.Close() // the request has its status; this adds nothing
	s.conn = c
}

// Close implements backend.Sender.
func (s *grpcSender) Close() error {
	s.drop()
	if s.conn == nil || s.b.cfg.Connections > 0 {
		return nil
	}
	return s.conn.Close()
}

// Send implements backend.Sender.
func (s *grpcSender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	r := &x.Request
	r.IssuedNS = s.clock.NowNS()
	r.StartSource = export.SourceUser
	if s.b.cfg.Reuse == backend.Fresh {
		c, err := s.b.dial(s.b.cfg.MaxAnswerMemory)
		if err != nil {
			s.b.fail(ctx, r, err, false)
			return
		}
		s.conn = c
		defer func() {
			s.drop()
			_ = c.Close() // the request has its status; this adds nothing
			s.conn = nil
		}()
	}
	x.Sent = p
	s.out = outgoing{p.(*payload).msg, append(tail(x), s.asked...)}
	if s.b.cfg.Streaming {
		s.sendStream(ctx, x)
	} else {
		s.sendUnary(ctx, x)
	}
}

// fail sets status and message of a failed request: see [Backend.fail]. A connection on which a
// request got no complete answer in time carries no other request.
func (s *grpcSender) fail(ctx context.Context, r *export.Request, err error, sent bool) {
	s.b.fail(ctx, r, s.conn.explain(err), sent)
	if sent && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.hangUp()
	}
}

// tail returns the fields of a request that the prepared message lacks: its id and its
// place in a sequence. Fields may be appended to a protobuf message in any order, so the
// message need not be encoded again.
func tail(x *backend.Exchange) []byte {
	b := wire.AppendID(make([]byte, 0, 24), strconv.FormatUint(x.Request.ID, 10))
	for _, p := range sequenceParams(x) {
		b = wire.AppendParam(b, p)
	}
	return b
}

// sequenceParams returns Triton's parameters for the place of x in its sequence.
func sequenceParams(x *backend.Exchange) []wire.Param {
	s := x.Sequence
	if s.ID == 0 {
		return nil
	}
	return []wire.Param{
		{Name: wire.ParamSequenceID, Value: int64(s.ID)},
		{Name: wire.ParamSequenceStart, Value: s.Start},
		{Name: wire.ParamSequenceEnd, Value: s.End},
	}
}

// stamp sets the time of the message in s.in to the time of the socket read that
// completed it; if that read is unknown, to the present time.
func (s *grpcSender) stamp(t *streamStamps, cs grpc.ClientStream) {
	st, same, ok := t.message(cs)
	s.in.sameRead, s.in.waited = same, st.Waited
	if !ok {
		s.in.recvNS, s.in.source = s.clock.NowNS(), export.SourceUser
		return
	}
	s.in.recvNS, s.in.source = s.clock.FromWall(st.NS), export.StampSource(st.Source)
}

// keep appends the message in s.in, the last one of t, to the exchange.
func (s *grpcSender) keep(x *backend.Exchange, t *streamStamps) *export.Response {
	r := &x.Request
	t.keep()
	if s.in.waited {
		x.Waited++
	}
	resp := export.Response{RecvNS: s.in.recvNS, Source: s.in.source}
	if n := len(r.Responses); n > 0 {
		resp.Read = r.Responses[n-1].Read
		if !s.in.sameRead {
			resp.Read++
		}
	}
	if s.outputs != nil {
		s.in.data = s.outputs.grpc(s.in.data, s.b.cfg.Streaming)
	}
	if len(s.in.data) > maxBuffer {
		x.RespondOwned(resp, s.in.data)
		s.in.data = nil
	} else {
		x.Respond(resp, s.in.data)
	}
	return &r.Responses[len(r.Responses)-1]
}

// sendUnary makes the call without Invoke, to stamp between sending and receiving. The
// context of the call has no deadline, because the library would send it to the server,
// which perf_analyzer does not, and the server's timeout would compete with the client's.
func (s *grpcSender) sendUnary(ctx context.Context, x *backend.Exchange) {
	r := &x.Request
	again := func() { r.Resent, r.StartNS, r.SentNS = true, s.clock.NowNS(), 0 } // the library does not say when it has sent the second one
	octx := s.outgoing(context.WithoutCancel(ctx))
	for name, value := range s.b.perRequest.All(x) {
		octx = metadata.AppendToOutgoingContext(octx, name, value)
	}
	cctx, cancel := context.WithCancel(context.WithValue(octx, againKey{}, again))
	defer cancel() // frees the call when it ends early
	defer context.AfterFunc(ctx, cancel)()
	cs, err := s.conn.NewStream(cctx, unaryDesc, pb.GRPCInferenceService_ModelInfer_FullMethodName, grpc.ForceCodecV2(codec{}))
	if err != nil {
		s.fail(ctx, r, err, false)
		return
	}
	s.conn.carry(r)
	r.StartNS = s.clock.NowNS()
	err = cs.SendMsg(&s.out)
	r.SentNS = s.clock.NowNS()
	if err == nil || errors.Is(err, io.EOF) { // the reason is in the status
		err = cs.RecvMsg(&s.in)
	}
	t := streamStamps{name: s.name}
	if err != nil {
		t.look(cs)
		t.forget() // the answer may have begun
		s.fail(ctx, r, err, true)
		return
	}
	s.stamp(&t, cs)
	t.request(r, 0, s.clock)
	r.FirstByteNS = t.firstByte(s.clock)
	s.keep(x, &t)
	t.revise(x, s.clock)
	t.forget()
	r.Status = export.StatusOK
}

func (s *grpcSender) sendStream(ctx context.Context, x *backend.Exchange) {
	r := &x.Request
	if err := ctx.Err(); err != nil {
		s.fail(ctx, r, err, false)
		return
	}
	if s.stream != nil && s.conn.GetState() != connectivity.Ready {
		s.drop() // a server that sent GOAWAY ends the stream soon, and the request on it would fail
	}
	if s.stream == nil {
		if err := s.open(ctx); err != nil {
			s.fail(ctx, r, err, false)
			return
		}
	}
	s.conn.carry(r)
	stop := context.AfterFunc(ctx, s.stream.cancel)
	r.StartNS = s.clock.NowNS()
	err := s.stream.SendMsg(&s.out)
	r.SentNS = s.clock.NowNS()
	number := s.stream.stamps.sent
	s.stream.stamps.sent++
	if err == nil || errors.Is(err, io.EOF) { // the reason is in the status
		s.stream.stamps.begin()
		err = s.receive(x, number)
		s.stream.stamps.revise(x, s.clock)
		s.stream.stamps.complete()
	}
	switch {
	case err != nil:
		stop()
		s.stream.stamps.look(s.stream) // the first answer of the stream may have begun
		s.drop()
		s.fail(ctx, r, err, true)
		if _, ok := errors.AsType[*backend.AnswerMemoryError](err); ok {
			s.hangUp()
		}
	case !stop(): // ended and cancelled at the same time
		s.drop()
		fallthrough
	default:
		if r.Status == export.StatusUnknown {
			r.Status = export.StatusOK
		}
	}
}

// messageHead is the number of bytes in front of each message on the wire.
const messageHead = 5

// leastStretch is the number of bytes that a message counts towards backend.YieldBytes
// besides its own, because an empty message takes time, too.
const leastStretch = 256

// receive reads until the exchange is complete. number is the number of the request on
// the stream.
func (s *grpcSender) receive(x *backend.Exchange, number int) error {
	r := &x.Request
	var buf [20]byte
	id := strconv.AppendUint(buf[:0], r.ID, 10)
	s.mem.Begin(s.b.cfg.MaxAnswerMemory)
	stretch := 0
	for {
		if stretch >= backend.YieldBytes {
			stretch = 0
			runtime.Gosched()
		}
		err := s.stream.RecvMsg(&s.in)
		stretch += leastStretch + len(s.in.data)
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Unavailable, "the server closed the stream before the answer was complete")
		}
		if err != nil {
			return err
		}
		s.stamp(&s.stream.stamps, s.stream)
		o, ok := scan(s.in.data)
		if !ok {
			s.keep(x, &s.stream.stamps)
			return errProtocol
		}
		if err := s.mem.Take(messageHead + len(s.in.data)); err != nil {
			x.Cut()
			return err
		}
		if len(o.id) > 0 && string(o.id) != string(id) {
			continue // left over from an earlier request
		}
		if len(r.Responses) == 0 {
			s.stream.stamps.request(r, number, s.clock)
			r.FirstByteNS = s.stream.stamps.firstByte(s.clock)
		}
		record, err := s.mem.Event(r, o.empty && s.b.model.Decoupled)
		if err != nil {
			x.Cut()
			return err
		}
		if !record {
			continue
		}
		resp := s.keep(x, &s.stream.stamps)
		if len(o.errText) > 0 {
			resp.Error = true
			if r.Status == export.StatusUnknown {
				r.Status, r.Message = export.StatusRPCError, s.b.clipped(string(o.errText))
			}
		}
		switch {
		case o.hasFinal && o.final:
			resp.Final = true
			return nil
		case o.hasFinal:
		case len(o.errText) > 0, !s.b.model.Decoupled:
			return nil
		}
	}
}
