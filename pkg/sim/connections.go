package sim

import (
	"net"
	"sync"

	"github.com/pa-tools/pa/internal/sockstamp"
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

func (l trackingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	stamped, err := sockstamp.Wrap(conn)
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
