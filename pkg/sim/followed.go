package sim

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/grpcstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
)

// StreamHeader is the gRPC metadata by which a client may name a call, by any
// text that is unique on its connection. The kernel's times of messages are
// known of calls with a name, and of those that are alone on their connection
// when they begin.
const StreamHeader = "pa-slot"

// A followed is an HTTP/2 stream whose messages are followed.
type followed struct {
	*h2follow.Follower // nil: not known which stream it is
	number             uint32
}

// follow finds the stream that a handler serves; the handler asks before it
// answers.
func follow(ctx context.Context) followed {
	f, ok := grpcstamp.FromContext(ctx)
	if !ok {
		return followed{}
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if name := md.Get(StreamHeader); len(name) > 0 {
			if number, ok := f.Stream(name[0]); ok {
				return followed{f, number}
			}
		}
	}
	if number, ok := f.Alone(); ok {
		return followed{f, number}
	}
	return followed{}
}

// received returns when request k of the stream had arrived, as the kernel has
// it, 0 if that is not known.
func (f followed) received(k int) uint64 {
	if f.Follower == nil {
		return 0
	}
	if st, ok := f.Message(f.number, k); ok && st.Source == sockstamp.Kernel {
		return st.NS
	}
	return 0
}

// left returns when message k that was sent on the stream left, as the kernel
// has it, 0 if that is not known.
func (f followed) left(k int) uint64 {
	if f.Follower == nil {
		return 0
	}
	if _, sent, ok := f.Sent(f.number, k); ok && sent.Source == sockstamp.Kernel {
		return sent.NS
	}
	return 0
}
