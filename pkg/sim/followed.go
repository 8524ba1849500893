package sim

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/pa-tools/pa/internal/grpcconn"
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
)

// StreamHeader is the gRPC metadata key by which a client can name a call. The name must be
// unique on its connection. The kernel's times of messages are known for named calls, and
// for calls that are alone on their connection when they start.
const StreamHeader = "pa-slot"

// A followedStream is an HTTP/2 stream with the times of its messages.
type followedStream struct {
	*h2follow.Follower // nil if the stream is unknown
	number             uint32
}

// follow finds the HTTP/2 stream of a call. The handler calls it before it answers.
func follow(ctx context.Context) followedStream {
	f, ok := grpcconn.FromContext(ctx)
	if !ok {
		return followedStream{}
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if name := md.Get(StreamHeader); len(name) > 0 {
			if number, ok := f.Stream(name[0]); ok {
				return followedStream{f, number}
			}
		}
	}
	if number, ok := f.Alone(); ok {
		return followedStream{f, number}
	}
	return followedStream{}
}

// received returns the kernel's time of the arrival of request k on the stream, 0 if it is
// unknown.
func (f followedStream) received(k int) uint64 {
	if f.Follower == nil {
		return 0
	}
	if st, ok := f.Message(f.number, k); ok {
		if st = f.Settled(st); st.Source == sockstamp.Kernel {
			return st.NS
		}
	}
	return 0
}

// left returns the kernel's time of sending message k on the stream, 0 if it is unknown.
func (f followedStream) left(k int) uint64 {
	if f.Follower == nil {
		return 0
	}
	if _, sent, ok := f.Sent(f.number, k); ok && sent.Source == sockstamp.Kernel {
		return sent.NS
	}
	return 0
}
