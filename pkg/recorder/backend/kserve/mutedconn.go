package kserve

import (
	"net"
	"sync"
)

// A mutedConn reads nothing before something was written. A gRPC server speaks
// first; net/http, when that reaches it before it wrote its request, writes a
// line to the process's log instead of returning an error, and nobody learns
// that the port was the wrong one.
type mutedConn struct {
	net.Conn
	number int // of the connection
	once   sync.Once
	spoken chan struct{} // closed by the first Write, or by Close
}

// NetConn returns the connection below, as that of TLS does.
func (c *mutedConn) NetConn() net.Conn { return c.Conn }

func (c *mutedConn) Read(b []byte) (int, error) {
	<-c.spoken
	return c.Conn.Read(b)
}

func (c *mutedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.once.Do(func() { close(c.spoken) })
	return n, err
}

func (c *mutedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.spoken) })
	return err
}

// connNumber returns the number of the mutedConn that nc is or is on top of.
func connNumber(nc net.Conn) int {
	for {
		if c, ok := nc.(*mutedConn); ok {
			return c.number
		}
		over, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return 0
		}
		nc = over.NetConn()
	}
}
