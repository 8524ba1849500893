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

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/grpcstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// windowBytes is the static HTTP/2 flow control window of streams and
// connections. Left to itself the library estimates the window and changes it
// in the middle of a run.
const windowBytes = 16 << 20

// slotHeader is the metadata that names the slot of a call on a shared
// connection.
const slotHeader = "pa-slot"

// On a shared connection many writes and ends of other calls may lie between
// what a call does and its question for the stamps.
// The bytes of a long request are many writes as well: over TLS 10 MB are 640 records.
const (
	ownTransmit    = 640      // stamps
	sharedTransmit = 16 << 10 // stamps
	sharedEnded    = 4096     // calls
)

// A link is a gRPC client connection that knows how it came to be. The library
// makes a new connection for a link when the old one broke.
type link struct {
	*grpc.ClientConn
	b *Backend

	mu      sync.Mutex
	making  phases // of the attempt in progress: the library makes one at a time
	made    phases // of the newest connection
	told    bool   // a request has been told of made
	carried int    // number of the connection that the last request went out on
	err     error  // of the last attempt; the library passes it on as text only
}

// phases say how a connection was made.
type phases struct {
	number            int // of the connection, from 1; 0: none
	dns, connect, tls time.Duration
}

// dial returns a link that is not yet connected and takes messages of up to
// maxBytes.
func (b *Backend) dial(maxBytes int64) (*link, error) {
	l := &link{b: b}
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
		grpc.WithTransportCredentials(&timedCredentials{grpcstamp.Credentials(creds, follow), l}),
		grpc.WithContextDialer(l.connect), // and with that no proxy but ours
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
	// passthrough leaves the name to the dialer, and that tries all addresses.
	cc, err := grpc.NewClient("passthrough:///"+b.target.host, options...)
	l.ClientConn = cc
	return l, err
}

func (b *Backend) tlsConfig() *tls.Config {
	if b.cfg.TLS != nil {
		return b.cfg.TLS.Clone()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// dialer returns what makes stamped connections.
func (b *Backend) dialer() *sockstamp.Dialer {
	d := &sockstamp.Dialer{Options: sockstamp.Options{User: b.cfg.UserStamps}}
	if b.cfg.Protocol == GRPC {
		d.Options.KeepTransmit = ownTransmit
	}
	if b.cfg.Connections > 0 {
		d.Options.KeepTransmit = sharedTransmit
	}
	return d
}

// connect is the library's dialer. With a proxy, connecting includes asking it.
func (l *link) connect(ctx context.Context, addr string) (net.Conn, error) {
	var p phases
	begin := time.Now()
	ctx, lookup := backend.TraceLookup(ctx)
	nc, err := l.b.connect(ctx, addr)
	p.dns = lookup()
	p.connect = time.Since(begin) - p.dns
	if err == nil {
		p.number = int(l.b.made.Add(1))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.making, l.err = p, err
	return nc, err
}

// A timedCredentials secures connections as those inside, and tells the link
// how long it took.
type timedCredentials struct {
	credentials.TransportCredentials
	link *link
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c *timedCredentials) ClientHandshake(ctx context.Context, authority string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	begin := time.Now()
	secured, auth, err := c.TransportCredentials.ClientHandshake(ctx, authority, nc)
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.err = err
		return secured, auth, err
	}
	l.made, l.told = l.making, false
	if l.b.target.tls {
		l.made.tls = time.Since(begin)
	}
	return secured, auth, nil
}

// Clone implements [credentials.TransportCredentials].
func (c *timedCredentials) Clone() credentials.TransportCredentials {
	return &timedCredentials{c.TransportCredentials.Clone(), c.link}
}

// carry notes in r, which is about to be sent, what connection it is sent on.
func (l *link) carry(r *export.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Conn, r.Reused = l.made.number, l.carried == l.made.number
	l.carried = l.made.number
	if !l.told {
		l.told = true
		r.DNS, r.Connect, r.TLS = l.made.dns, l.made.connect, l.made.tls
	}
}

// failure returns the error of the last attempt to connect, nil if it was none.
func (l *link) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
