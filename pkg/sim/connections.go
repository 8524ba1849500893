package sim

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A connTable knows the open connections of a listener by the client's address,
// so that a fault can break the one that a request came by: gRPC hides it.
type connTable struct {
	mu    sync.Mutex
	conns map[string]net.Conn
}

// reset breaks the connection from that address with a RST.
func (t *connTable) reset(remote string) {
	t.mu.Lock()
	conn := t.conns[remote]
	t.mu.Unlock()
	if conn != nil {
		lingerZero(conn)
		_ = conn.Close() // it may be closed already, which is as good
	}
}

// A trackingListener enters what it accepts into a table, and has the kernel
// note when what is written leaves.
type trackingListener struct {
	net.Listener
	table *connTable
}

// keepMessages is how many writes of a gRPC connection are remembered: the
// kernel's stamp of a message is asked for with the next of its stream, and many
// streams may share the connection.
const keepMessages = 1024

func (l trackingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	stamped, err := sockstamp.Options{KeepTransmit: keepMessages}.Wrap(conn)
	if err != nil { // it is closed already; its first read says so
		return conn, nil
	}
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	if l.table.conns == nil {
		l.table.conns = map[string]net.Conn{}
	}
	l.table.conns[conn.RemoteAddr().String()] = conn
	return &trackedConn{Conn: stamped, raw: conn, table: l.table}, nil
}

// A trackedConn leaves the table when it is closed.
type trackedConn struct {
	net.Conn // with stamps
	raw      net.Conn
	table    *connTable
}

// NetConn returns the connection with stamps, as that of TLS does.
func (c *trackedConn) NetConn() net.Conn { return c.Conn }

func (c *trackedConn) Close() error {
	remote := c.RemoteAddr().String()
	c.table.mu.Lock()
	if c.table.conns[remote] == c.raw {
		delete(c.table.conns, remote)
	}
	c.table.mu.Unlock()
	return c.Conn.Close()
}

// An httpListener accepts connections for net/http, each a *timedConn.
type httpListener struct {
	net.Listener
	options sockstamp.Options
	tls     *tls.Config // nil: none
}

func (l *httpListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	stamped, err := l.options.Wrap(raw)
	if err != nil { // it is closed already; its first read says so
		stamped, _ = sockstamp.Options{User: true}.Wrap(raw)
	}
	c := &timedConn{Conn: stamped, stamped: stamped, raw: raw}
	if l.tls != nil {
		c.Conn = tls.Server(stamped, l.tls)
	}
	return c, nil
}

// A timedConn is a connection of an HTTP server that knows when it began to
// write. It lies below net/http's buffers, so that nothing but TLS lies between
// that time and the kernel.
type timedConn struct {
	net.Conn                 // stamped, or TLS over it
	stamped  *sockstamp.Conn // knows what the kernel says of reads and writes
	raw      net.Conn

	// What follows is used by the goroutine that serves the connection.
	wroteNS uint64 // when the last write began
	fill    bool   // what is written may hold tokens of the vocabulary Stamp
}

// Write notes the time, enters it into the tokens that are to show it, and
// writes. It does that in p: net/http hands over a buffer of its own, or what
// the answer gave it.
func (c *timedConn) Write(p []byte) (int, error) {
	now := uint64(time.Now().UnixNano())
	if c.fill {
		plan.FillStamps(p, now)
	}
	c.wroteNS = now
	return c.Conn.Write(p)
}

// lingerZero makes the next Close of a connection send a RST.
func lingerZero(conn net.Conn) {
	if c, ok := conn.(*timedConn); ok {
		conn = c.raw
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // where it fails the client sees a FIN instead
	}
}
