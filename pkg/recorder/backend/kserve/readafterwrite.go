package kserve

import (
	"io"
	"net"
	"sync"
)

// A readAfterWriteConn blocks reads until the first write. A gRPC server speaks first.
// When its bytes reach net/http before the request is written, net/http logs a line
// instead of returning an error, and the user does not learn that the port is wrong.
type readAfterWriteConn struct {
	net.Conn
	number int // number of the connection
	once   sync.Once
	spoken chan struct{} // closed by the first Write, or by Close
	failed error         // of a Read; for the one goroutine that reads
}

// NetConn returns the connection below, as [tls.Conn.NetConn] does.
func (c *readAfterWriteConn) NetConn() net.Conn { return c.Conn }

func (c *readAfterWriteConn) Read(b []byte) (int, error) {
	<-c.spoken
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.failed != nil { //nolint:errorlint // no Conn wraps it
		return n, c.failed // the kernel reports a reset once, and then EOF; textproto drops the first error of a head
	}
	c.failed = err
	return n, err
}

func (c *readAfterWriteConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.once.Do(func() { close(c.spoken) })
	return n, err
}

func (c *readAfterWriteConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.spoken) })
	return err
}

// connNumber returns the number of the readAfterWriteConn in nc; 0 if it has none.
func connNumber(nc net.Conn) int {
	for {
		if c, ok := nc.(*readAfterWriteConn); ok {
			return c.number
		}
		over, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return 0
		}
		nc = over.NetConn()
	}
}
