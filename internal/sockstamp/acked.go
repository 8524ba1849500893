package sockstamp

import "syscall"

// An acked is how much of what was written is known to have arrived.
type acked struct {
	bytes uint64
	ok    bool
}

// Acknowledged returns how many of the bytes written the other side's TCP has
// acknowledged: an offset, to be compared with [Conn.Written]. What is beyond
// it may have arrived too. Bytes that are acknowledged were taken by the other
// machine, not necessarily read by the program there.
//
// After Close it is what was known when the connection was closed. It is about
// connections that were opened from here, wrapped before anything was written.
// ok is false where the system does not tell: it is Linux that does.
func (c *Conn) Acknowledged() (bytes uint64, ok bool) {
	a, open := c.askAcked()
	c.mu.Lock()
	defer c.mu.Unlock()
	if open && a.bytes >= c.acked.bytes {
		c.acked = a
	}
	return c.acked.bytes, c.acked.ok
}

// askAcked asks the kernel; open is false when there is no socket (any more).
func (c *Conn) askAcked() (a acked, open bool) {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return acked{}, false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return acked{}, false
	}
	err = rc.Control(func(fd uintptr) { a = ackedOn(fd) })
	return a, err == nil
}
