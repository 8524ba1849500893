package sockstamp

import "net"

// A stampedListener accepts stamped connections.
type stampedListener struct {
	net.Listener
	Options Options
}

// Accept waits for a connection, which is a [*Conn].
func (l *stampedListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c, err := l.Options.Wrap(nc)
	if err != nil { // its first read says why; the listener goes on
		c = l.Options.userConn(nc)
		c.why = err.Error()
	}
	return c, nil
}
