package kserve

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"

	"github.com/pa-tools/pa/internal/grpcconn"
	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// windowBytes is the static HTTP/2 flow control window of streams and connections. By
// default the library estimates the window and changes it in the middle of a run.
const windowBytes = 16 << 20

// readBufferBytes is enough for the messages of a stream of tokens. Larger frames bypass the buffer.
const readBufferBytes = 4 << 10

// slotHeader is the metadata key for the slot of a call on a shared connection.
const slotHeader = "pa-slot"

// These are the stamps and ended calls that a connection keeps. On a shared
// connection, many writes and ends of other calls may come before a call asks for its
// stamps. A long request is many writes too: 10 MB over TLS are 640 records.
const (
	ownTransmit    = 640      // stamps
	sharedTransmit = 16 << 10 // stamps
	sharedEnded    = 4096     // calls
)

// A stampedClientConn is a gRPC client connection that knows how long each step of
// making it took. The library replaces a broken connection below it.
type stampedClientConn struct {
	*grpc.ClientConn
	b *Backend

	mu       sync.Mutex
	making   phases   // attempt in progress; the library makes one at a time
	made     phases   // newest connection
	reported bool     // a request has the times of made
	carried  int      // number of the connection that carried the last request
	err      error    // error of the last attempt, which the library passes on as text only
	newest   net.Conn // socket of the last attempt that succeeded; nil: none did
}

// closeTime bounds how long the library may take to say goodbye to a server. By itself it
// waits for 5 s when the server does not read.
const closeTime = 100 * time.Millisecond

// Close closes the connection.
func (c *stampedClientConn) Close() error {
	c.mu.Lock()
	nc := c.newest
	c.mu.Unlock()
	if nc != nil {
		defer time.AfterFunc(closeTime, func() { _ = nc.Close() }).Stop()
	}
	return c.ClientConn.Close()
}

// phases are the steps of making a connection.
type phases struct {
	number            int // of the connection, from 1; 0: none
	dns, connect, tls time.Duration
}

// dial returns a connection that is not yet made. It takes messages of up to maxBytes.
func (b *Backend) dial(maxBytes int64) (*stampedClientConn, error) {
	c := &stampedClientConn{b: b}
	creds := insecure.NewCredentials()
	if b.target.tls {
		creds = credentials.NewTLS(b.tlsConfig())
	}
	follow := h2follow.Config{}
	if b.cfg.Connections > 0 {
		follow = h2follow.Config{Header: slotHeader, Ended: sharedEnded}
	}
	follow.Unary = !b.cfg.Streaming
	options := append(compression(b.cfg.Compression, maxBytes),
		grpc.WithTransportCredentials(&timedCredentials{grpcconn.Credentials(creds, follow), c}),
		grpc.WithContextDialer(c.connect), // turns off the library's proxies
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(int(maxBytes)), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithReadBufferSize(readBufferBytes),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}))
	if !b.cfg.Streaming {
		options = append(options, grpc.WithStatsHandler(attempts{}))
	}
	// passthrough leaves the name to the dialer, which tries all addresses.
	cc, err := grpc.NewClient("passthrough:///"+b.target.host, options...)
	c.ClientConn = cc
	return c, err
}

// againKey is the key of a function in the context of a unary call. attempts calls it when
// grpc-go sends the request again.
type againKey struct{}

// attempts notices when grpc-go makes a call twice, because the server closed the connection or
// the stream before it took the request. grpc-go has no option that prevents this. Streams need
// no attempts, because grpc-go sends their requests once.
type attempts struct{}

var _ stats.Handler = attempts{}

// HandleRPC implements [stats.Handler]. The goroutine of the call calls it.
func (attempts) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if begin, ok := s.(*stats.Begin); ok && begin.IsTransparentRetryAttempt {
		if again, ok := ctx.Value(againKey{}).(func()); ok {
			again()
		}
	}
}

// TagRPC implements [stats.Handler].
func (attempts) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn implements [stats.Handler].
func (attempts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements [stats.Handler].
func (attempts) HandleConn(context.Context, stats.ConnStats) {}

// compression returns the options of a client connection with compressed messages, none for
// "". Answers may be compressed, too, and have up to maxBytes. These options are deprecated
// in favour of a global registry, with which the calls of all connections would ask for
// compressed answers.
func compression(format string, maxBytes int64) []grpc.DialOption {
	if format == "" {
		return nil
	}
	c := grpcconn.Compression(format)
	return []grpc.DialOption{
		grpc.WithCompressor(grpcconn.Compressor{Compression: c}),                         //nolint:staticcheck // see above
		grpc.WithDecompressor(grpcconn.Decompressor{Compression: c, MaxBytes: maxBytes}), //nolint:staticcheck // see above
	}
}

func (b *Backend) tlsConfig() *tls.Config {
	if b.cfg.TLS != nil {
		return b.cfg.TLS.Clone()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// dialer returns the dialer of the next stamped connection.
func (b *Backend) dialer() *sockstamp.Dialer {
	d := &sockstamp.Dialer{Net: b.cfg.Sources.Dialer(), Options: sockstamp.Options{User: b.cfg.UserStamps}}
	if b.cfg.Protocol == GRPC {
		d.Options.KeepTransmit = ownTransmit
	}
	if b.cfg.Connections > 0 {
		d.Options.KeepTransmit = sharedTransmit
	}
	return d
}

// connect is the dialer that the library calls. With a proxy, the time to connect
// includes the proxy's answer.
func (c *stampedClientConn) connect(ctx context.Context, addr string) (net.Conn, error) {
	var p phases
	begin := time.Now()
	ctx, lookup := backend.TraceLookup(ctx)
	nc, err := c.b.connect(ctx, addr)
	p.dns = lookup()
	p.connect = time.Since(begin) - p.dns
	if err == nil {
		p.number = int(c.b.made.Add(1))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making, c.err = p, err
	if err == nil {
		c.newest = nc
	}
	return nc, err
}

// A timedCredentials secures connections and stores the duration in conn.
type timedCredentials struct {
	credentials.TransportCredentials
	conn *stampedClientConn
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c *timedCredentials) ClientHandshake(ctx context.Context, authority string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	begin := time.Now()
	secured, auth, err := c.TransportCredentials.ClientHandshake(ctx, authority, nc)
	conn := c.conn
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if err != nil {
		conn.err = err
		return secured, auth, err
	}
	conn.made, conn.reported = conn.making, false
	if conn.b.target.tls {
		conn.made.tls = time.Since(begin)
	}
	return secured, auth, nil
}

// Clone implements [credentials.TransportCredentials].
func (c *timedCredentials) Clone() credentials.TransportCredentials {
	return &timedCredentials{c.TransportCredentials.Clone(), c.conn}
}

// carry sets in r, which is about to be sent, the connection that carries it.
func (c *stampedClientConn) carry(r *export.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Conn, r.Reused = c.made.number, c.carried == c.made.number
	c.carried = c.made.number
	if !c.reported {
		c.reported = true
		r.DNS, r.Connect, r.TLS = c.made.dns, c.made.connect, c.made.tls
	}
}

// failure returns the error of the last attempt to connect; nil if it succeeded.
func (c *stampedClientConn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
