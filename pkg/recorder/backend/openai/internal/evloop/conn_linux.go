package evloop

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// A Handler receives the events of a request. One goroutine at a time calls it, with the
// connection's lock held: it must not wait and must not call methods of the connection.
type Handler interface {
	// Answered is called before the first Data, with the stamps of the request that are
	// known then; see [sockstamp.Conn.Request].
	Answered(start, sent sockstamp.Stamp)
	// Data receives the bytes of one read; p is valid until Data returns. It returns true
	// after the end of the answer: then the handler is not called any more, and further
	// bytes make the connection unusable.
	Data(p []byte, at sockstamp.Stamp) (over bool)
	// WriteFailed reports that writing the request failed with err, a unix.Errno. Data
	// may follow, and Closed or the end of the answer will.
	WriteFailed(err error)
	// Closed reports the end of the connection: io.EOF, a unix.Errno or errClosed. The
	// handler is not called any more.
	Closed(err error)
}

// errUnasked is the error of a connection that sent bytes without a request.
var errUnasked = errors.New("the server sent bytes that no request asked for")

// The epoll events of a connection. EPOLLOUT is included only while bytes wait to be
// written, because a writable socket raises an event when it is added.
const (
	readEvents  = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	writeEvents = readEvents | unix.EPOLLOUT
)

const (
	// calmSpans is the least time between two calm reads, in gathering times.
	calmSpans = 4
	// calmReads is the number of calm reads in a row after which reads may be delayed.
	calmReads = 3
)

// A Conn is a connection of an Engine. Its methods may be called by any goroutine except
// its loop's.
type Conn struct {
	l       *loop
	fd      int
	slot    int32
	gen     int32
	stamped bool // the kernel stamps the reads

	mu   sync.Mutex // guards the fields below; may be held when l.mu is taken
	sock *sockstamp.Socket
	h    Handler // nil: no answer is expected
	out  []byte  // bytes that are not yet written
	err  error   // error that ended the reading

	begun    bool // Send was called
	unread   bool // bytes came before the first Send
	answered bool // bytes came since the last Send
	closed   bool
	lazy     bool   // the connection is in the loop's lazy instance
	calm     int    // calm reads in a row
	lastNS   uint64 // stamp of the last read

	acked   uint64 // result of Acknowledged when the connection was closed
	ackedOK bool
}

// Stamps returns which stamps the kernel takes, as [sockstamp.Socket.Stamps] does.
func (c *Conn) Stamps() (receive, transmit bool, why string) { return c.sock.Stamps() }

// Idle reports whether the connection can carry a request: it is open, no request is in
// progress, and no bytes came since the last answer.
func (c *Conn) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.err == nil && c.h == nil && len(c.out) == 0 && c.sock.Idle()
}

// Send starts to write p and passes the answer to h. It does not wait. p must not change
// until it is written or the connection is closed. h may be called before Send returns. If
// the connection cannot be used, Send calls h.Closed.
func (c *Conn) Send(p []byte, h Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.err != nil || c.h != nil || len(c.out) > 0 {
		err := c.err
		if err == nil {
			err = errClosed
		}
		h.Closed(err)
		return
	}
	c.h, c.answered, c.calm, c.lastNS = h, false, 0, 0
	c.move(false)
	c.sock.Begin()
	c.out = p
	c.write()
	if len(c.out) > 0 || c.unread {
		c.rearm()
	}
	c.begun, c.unread = true, false
	// On loopback, and with some drivers, the stamp of the write is there already. Taking
	// it now saves the loop a wake-up.
	c.sock.DrainTx()
}

// rearm sets the events to wait for. An event that is ready already is reported.
func (c *Conn) rearm() {
	ep := c.l.eager
	if c.lazy {
		ep = c.l.lazy // move failed
	}
	if err := control(ep, unix.EPOLL_CTL_MOD, c.fd, c.events(), c.slot, c.gen); err != nil {
		c.fail(err)
	}
}

func (c *Conn) events() uint32 {
	if len(c.out) > 0 {
		return writeEvents
	}
	return readEvents
}

// Request returns the stamps of the last request; see [sockstamp.Conn.Request].
func (c *Conn) Request() (start, sent sockstamp.Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.sock.DrainTx()
	}
	return c.sock.Request()
}

// Revised returns the stamps that replace the stamps of reads after the read with the given
// ordinal; see [sockstamp.Conn.Revised]. Call it when an answer is complete.
func (c *Conn) Revised(ordinal uint64) []sockstamp.Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]sockstamp.Stamp(nil), c.sock.Revised(ordinal)...)
}

// Written returns the number of bytes written.
func (c *Conn) Written() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sock.Written()
}

// Acknowledged returns the number of written bytes that the other side has acknowledged;
// see [sockstamp.Conn.Acknowledged]. After Close it returns the number at Close.
func (c *Conn) Acknowledged() (bytes uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		return c.sock.Acknowledged()
	}
	return c.acked, c.ackedOK
}

// Close closes the connection. No handler is called after it has returned, also not the
// handler of a request in progress.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.sock.DrainTx()
	c.sock.Settle()
	c.acked, c.ackedOK = c.sock.Acknowledged()
	c.closed, c.h, c.out = true, nil, nil
	c.l.remove(c)
	return unix.Close(c.fd)
}

// handle handles the events of the connection.
func (c *Conn) handle(events uint32, buf []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.err != nil {
		return
	}
	if events&unix.EPOLLERR != 0 {
		c.sock.DrainTx()
	}
	if events&unix.EPOLLOUT != 0 && len(c.out) > 0 {
		c.write()
	}
	const readable = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&readable != 0 {
		c.read(buf, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// write writes as many bytes as the send buffer takes.
func (c *Conn) write() {
	n, err := c.sock.Write(c.out)
	if c.out = c.out[n:]; err == nil || err == unix.EAGAIN { //nolint:errorlint // Write does not wrap it
		return
	}
	c.out = nil
	if c.h != nil {
		c.h.WriteFailed(err)
	}
}

// read reads once: a connection that always has more must not keep the loop from the
// other connections. After a read that fills the buffer it asks for another event,
// which comes after the other connections' events. After a read that does not fill
// the buffer nothing is left but, perhaps, the end of the connection; later bytes
// raise an event of their own.
func (c *Conn) read(buf []byte, ended bool) {
	if !c.begun {
		// A server that speaks first does not speak the protocol of the request. The
		// handler of the request will get its bytes.
		c.unread = true
		return
	}
	for {
		n, at, err := c.sock.Read(buf)
		if err == unix.EAGAIN { //nolint:errorlint // Read does not wrap it
			return
		}
		if err != nil {
			c.fail(err)
			return
		}
		if c.h == nil {
			c.fail(errUnasked)
			return
		}
		if !c.answered {
			c.answered = true
			c.sock.DrainTx()
			c.h.Answered(c.sock.Request())
		}
		if c.h.Data(buf[:n], at) {
			c.h = nil
		}
		c.pace(at)
		if n == len(buf) {
			c.rearm()
			return
		}
		if !ended {
			return
		}
	}
}

// fail ends the reading with err.
func (c *Conn) fail(err error) {
	if c.err != nil || c.closed {
		return
	}
	c.err, c.out = err, nil
	if h := c.h; h != nil {
		c.h = nil
		h.Closed(err)
	}
}

// pace decides by the time since the last read whether the next read may be delayed.
func (c *Conn) pace(at sockstamp.Stamp) {
	gap := at.NS - c.lastNS
	switch {
	case c.l.span == 0 || at.Source != sockstamp.Kernel || at.NS < c.lastNS || gap < uint64(calmSpans*c.l.span):
		c.calm = 0
		c.move(false)
	case c.lastNS != 0:
		if c.calm++; c.calm >= calmReads {
			c.move(true)
		}
	}
	c.lastNS = at.NS
}

// move moves the connection into the loop's lazy instance or out of it. An event that is
// ready already is reported there.
func (c *Conn) move(lazy bool) {
	if c.lazy == lazy || lazy && !c.stamped {
		return
	}
	from, to := c.l.lazy, c.l.eager
	if lazy {
		from, to = to, from
	}
	if control(to, unix.EPOLL_CTL_ADD, c.fd, c.events(), c.slot, c.gen) != nil {
		return // the connection stays in the other instance
	}
	c.lazy = lazy
	// An event may be reported by both instances, which does no harm.
	_ = control(from, unix.EPOLL_CTL_DEL, c.fd, 0, c.slot, c.gen)
}
