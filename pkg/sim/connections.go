package sim

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A connTable maps the address of a client to its connection, so that a fault can break the
// connection of a gRPC request.
type connTable struct {
	mu    sync.Mutex
	conns map[string]net.Conn
}

// reset breaks the connection from an address with a RST.
func (t *connTable) reset(remote string) {
	t.mu.Lock()
	conn := t.conns[remote]
	t.mu.Unlock()
	if conn != nil {
		lingerZero(conn)
		_ = conn.Close() // it may be closed already
	}
}

// A trackingListener enters its connections into a table and makes the kernel stamp their
// writes.
type trackingListener struct {
	net.Listener
	table     *connTable
	newcomers *newcomers
}

// keepMessages is the number of writes of a gRPC connection whose stamps are kept. A stamp is
// read with the next message of its stream, and many streams may share the connection.
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
	return &trackedConn{Conn: stamped, raw: conn, table: l.table, newcomer: l.newcomers.add(conn)}, nil
}

// A trackedConn removes itself from the table when it is closed.
type trackedConn struct {
	net.Conn // with stamps
	raw      net.Conn
	table    *connTable
	newcomer *newcomer
}

// RemoteAddr returns a trackedAddr.
func (c *trackedConn) RemoteAddr() net.Addr { return trackedAddr{c.Conn.RemoteAddr(), c.newcomer} }

// NetConn returns the stamped connection, as tls.Conn does.
func (c *trackedConn) NetConn() net.Conn { return c.Conn }

func (c *trackedConn) Close() error {
	c.newcomer.leave()
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
	options   sockstamp.Options
	tls       *tls.Config // nil for none
	newcomers *newcomers
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
	c := &timedConn{Conn: stamped, stamped: stamped, raw: raw, newcomer: l.newcomers.add(raw)}
	if l.tls != nil {
		c.Conn = tls.Server(stamped, l.tls)
	}
	return c, nil
}

// A timedConn records when a write of an HTTP server began. It lies below the buffers of
// net/http, so that only TLS lies between this time and the kernel.
type timedConn struct {
	net.Conn                 // stamped, or TLS over it
	stamped  *sockstamp.Conn // has the kernel's times of reads and writes
	raw      net.Conn
	newcomer *newcomer

	// Only the goroutine that serves the connection uses the following fields.
	wroteNS uint64 // when the last write began
	fill    bool   // writes may hold tokens of the vocabulary Stamp
}

// Write records the time, writes it into tokens of the vocabulary Stamp, and writes p. It
// changes p, which is a buffer of net/http or of the answer.
func (c *timedConn) Write(p []byte) (int, error) {
	now := uint64(time.Now().UnixNano())
	if c.fill {
		plan.FillStamps(p, now)
	}
	c.wroteNS = now
	return c.Conn.Write(p)
}

// Close closes the connection.
func (c *timedConn) Close() error {
	c.newcomer.leave()
	return c.Conn.Close()
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
