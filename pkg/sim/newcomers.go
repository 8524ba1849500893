package sim

import (
	"container/list"
	"context"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

// newcomers are the connections that have not sent a request yet, the oldest first. A new
// one beyond the limit takes the place of the oldest, so that connections that say
// nothing cannot use up the files of the process. A connection that has sent a request stays.
type newcomers struct {
	limit int

	mu      sync.Mutex // guards the fields below
	all     list.List  // of *newcomer
	dropped uint64
}

// A newcomer is the place of a connection among the newcomers.
type newcomer struct {
	set  *newcomers
	conn net.Conn
	past atomic.Bool   // its connection has sent a request, or is closed
	at   *list.Element // guarded by set.mu; nil if it is no newcomer any more
}

// add adds a connection and closes the oldest one if there are too many.
func (n *newcomers) add(conn net.Conn) *newcomer {
	c := &newcomer{set: n, conn: conn}
	var oldest *newcomer
	n.mu.Lock()
	if n.all.Len() >= n.limit {
		oldest = n.all.Remove(n.all.Front()).(*newcomer)
		oldest.at = nil
		n.dropped++
	}
	c.at = n.all.PushBack(c)
	n.mu.Unlock()
	if oldest != nil {
		_ = oldest.conn.Close() // the goroutine that serves it notices
	}
	return c
}

// leave ends the connection's time as a newcomer. Further calls do nothing.
func (c *newcomer) leave() {
	if c.past.Load() || c.past.Swap(true) {
		return
	}
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if c.at != nil {
		c.set.all.Remove(c.at)
		c.at = nil
	}
}

// count returns how many connections were closed because they had sent no request.
func (n *newcomers) count() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dropped
}

// A trackedAddr is the client's address of a gRPC connection. gRPC hands it to
// each call, which so finds the connection.
type trackedAddr struct {
	net.Addr
	newcomer *newcomer
}

// gRPC's interceptors note that the connection of a call has sent a request.
func noteUnary(ctx context.Context, q any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	noteCall(ctx)
	return next(ctx, q)
}

func noteStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	noteCall(stream.Context())
	return next(srv, stream)
}

func noteCall(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(trackedAddr); ok {
			a.newcomer.leave()
		}
	}
}
