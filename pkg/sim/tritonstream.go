package sim

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// ModelStreamInfer answers the requests of a stream independently.
func (g *grpcServer) ModelStreamInfer(stream grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	t := &inferStream{g: g, ctx: ctx, stream: stream, over: make(chan error, 1), followed: follow(ctx)}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		v := md.Get("triton_grpc_error")
		t.statusErrors = len(v) > 0 && v[0] == "true"
	}
	received := make(chan error, 1)
	// Recv returns when the client has ended its side, or when this handler has
	// returned; so the server waits for the goroutine, not the handler.
	g.s.serves.Go(func() {
		for k := 0; ; k++ {
			q, err := stream.Recv()
			if err != nil {
				received <- err
				return
			}
			t.begin(q, t.followed.received(k))
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
	over         chan error // ends the stream; only the first value counts

	running   sync.WaitGroup // requests; none is added once closed
	mu        sync.Mutex     // guards closed
	closed    bool
	sending   sync.Mutex // held while a message is handed over; guards the rest
	sent      int        // messages
	unstamped []unstampedMessage

	followed followedStream // kernel times of messages
}

// An unstampedMessage is a message whose transmit stamp is not in the ledger yet.
type unstampedMessage struct {
	k     int // number of the message on the stream
	rec   *ledgerRecord
	write int // index in the entry
}

// maxUnstampedMessages bounds the messages without a stamp. After so many later messages, the
// kernel has no stamp for the first one, for example because TCP put two in one segment.
const maxUnstampedMessages = 16

// begin starts to serve a request. receivedNS is its arrival, 0 if unknown.
func (t *inferStream) begin(q *pb.ModelInferRequest, receivedNS uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.g.s.inFlight.add()
	index, rec := t.g.beginGRPC(t.ctx, TritonGRPCStream, q, receivedNS)
	t.running.Go(func() {
		defer t.g.s.inFlight.done()
		t.serve(index, rec, q)
	})
}

// close waits for all requests. No further request starts.
func (t *inferStream) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
	t.sending.Lock()
	defer t.sending.Unlock()
	t.collectStamps()
}

// end ends the stream with a status; nil means OK.
func (t *inferStream) end(err error) {
	select {
	case t.over <- err:
	default:
	}
}

// ended returns the status with which a request ended the stream, nil if none did.
func (t *inferStream) ended() error {
	select {
	case err := <-t.over:
		return err
	default:
		return nil
	}
}

// send sends one message and records it in the ledger. stamped means that its tokens show
// the time. Messages are sent one at a time.
func (t *inferStream) send(rec *ledgerRecord, c plan.Chunk, stamped bool) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.collectStamps()
	if stamped {
		plan.FillStamps(c.Data, uint64(time.Now().UnixNano()))
	}
	number := rec.Sending(c)
	err := t.ctx.Err()
	if err == nil {
		err = t.stream.SendMsg(&rawMessage{c.Data})
	}
	if err != nil {
		rec.Unsent()
		return err
	}
	if t.followed.Follower != nil {
		t.unstamped = append(t.unstamped, unstampedMessage{t.sent, rec, number})
	}
	t.sent++
	return nil
}

// collectStamps records when the kernel sent messages. The library writes them in order,
// some time after SendMsg, usually before the next message.
func (t *inferStream) collectStamps() {
	n := 0
	for _, m := range t.unstamped {
		ns := t.followed.left(m.k)
		if ns == 0 && len(t.unstamped)-n <= maxUnstampedMessages {
			break // later messages were not sent either
		}
		if ns != 0 {
			m.rec.Left(m.write, ns)
		}
		n++
	}
	t.unstamped = slices.Delete(t.unstamped, 0, n)
}

// refuse answers a request with an error.
func (t *inferStream) refuse(rec *ledgerRecord, q *pb.ModelInferRequest, e *tritonError, at time.Duration) {
	if t.statusErrors {
		rec.End(EndError, int(e.code), e.message)
		t.end(status.Error(e.code, e.message))
		return
	}
	_ = t.send(rec, plan.Chunk{At: at, Data: failure(q, e.message), Events: 1}, false) // a client that is gone needs no answer
	rec.End(EndError, int(e.code), e.message)
}

// failure returns a message with an error.
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

func (t *inferStream) serve(index uint64, rec *ledgerRecord, q *pb.ModelInferRequest) {
	s := t.g.s
	j, terr := t.g.parse(index, q)
	if terr != nil {
		t.refuse(rec, q, terr, 0)
		return
	}
	j.describe(rec)
	p := j.plan
	gone := func(err error) { rec.End(s.endReason(), int(codes.Canceled), errorText(err)) }
	if e := j.earlyFault(); e != nil {
		t.refuse(rec, q, e, 0)
		return
	}
	if p.Fault == plan.FaultNoReply {
		rec.End(EndFault, 0, "")
		s.conns.reset(remoteAddr(t.ctx))
		return
	}
	if p.Fault == plan.FaultHang {
		<-t.ctx.Done()
		gone(nil)
		return
	}
	if err := s.acquire(t.ctx); err != nil {
		gone(err)
		return
	}
	defer s.release()
	rec.Started()
	w := plan.Framing{Garbage: garbageMessage, Failure: func() []byte {
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
	var pace pacer
	defer pace.stop()
	for w := range plan.Script(j.events(render), p.Fault, p.FaultAfter, w) {
		err := pace.until(t.ctx, rec.Start.Add(w.At))
		if err == nil && w.Data != nil {
			err = t.send(rec, w, p.Vocabulary == plan.Stamp)
		}
		if err != nil {
			gone(err)
			return
		}
		switch w.Then {
		case plan.Reset:
			rec.End(EndFault, 0, "")
			s.conns.reset(remoteAddr(t.ctx))
			return
		case plan.Truncate:
			rec.End(EndFault, 0, "")
			t.end(nil)
			return
		case plan.Stall:
			<-t.ctx.Done()
			gone(nil)
			return
		}
	}
	if p.Fault == plan.FaultErrorEvent {
		rec.End(EndError, int(codes.Internal), errorEventMessage)
		if t.statusErrors {
			t.end(status.Error(codes.Internal, errorEventMessage))
		}
		return
	}
	rec.End(EndOK, 0, "")
}
