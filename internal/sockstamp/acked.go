package sockstamp

import "syscall"

// ackedBytes is the number of written bytes that are known to have arrived.
type ackedBytes struct {
	bytes uint64
	ok    bool
}

// Acknowledged returns how many of the written bytes the other side's TCP has
// acknowledged: an offset to compare with [Conn.Written]. Later bytes may have arrived
// too. The other machine received the acknowledged bytes; the program there may not have
// read them.
//
// After Close it returns the number at the time of closing. It applies to connections
// that were opened from here and wrapped before anything was written. ok is false where
// the system does not tell; Linux does.
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
func (c *Conn) askAcked() (a ackedBytes, open bool) {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return ackedBytes{}, false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return ackedBytes{}, false
	}
	err = rc.Control(func(fd uintptr) { a = ackedOn(fd) })
	return a, err == nil
}
