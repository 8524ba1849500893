package evloop

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// A Handler is told what becomes of a request. It is called by one goroutine at
// a time, with the connection's lock held: it must not wait, and not call the
// connection's methods.
type Handler interface {
	// Answered comes before the first Data, with what is then known of when
	// the request left; see [sockstamp.Conn.Request].
	Answered(start, sent sockstamp.Stamp)
	// Data takes what one read returned; p is only valid until it returns.
	// It returns true when no more is expected: then the handler is not called
	// any more, and whatever else comes makes the connection unusable.
	Data(p []byte, at sockstamp.Stamp) (over bool)
	// WriteFailed says that the request could not be written, or not whole, and
	// why: a unix.Errno. There may be data nevertheless, and will be an end.
	WriteFailed(err error)
	// Closed says that nothing more comes: because of io.EOF, a unix.Errno or
	// ErrClosed. The handler is not called any more.
	Closed(err error)
}

// errUnasked says that bytes came that nobody had asked for.
var errUnasked = errors.New("bytes came without a request")

// What is waited for. EPOLLOUT only while there is something to write: adding a
// socket that could be written to would be an event of its own.
const (
	readEvents  = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	writeEvents = readEvents | unix.EPOLLOUT
)

const (
	// calmSpans is how far apart reads must be on a connection that is not
	// read at once, in times of what readiness gathers for.
	calmSpans = 4
	// calmReads is how many of them must have been, in a row.
	calmReads = 3
)

// A Conn is a connection of an Engine. Its methods may be called by any
// goroutine but its loop's.
type Conn struct {
	l       *loop
	fd      int
	slot    int32
	gen     int32
	stamped bool // the kernel stamps what is read

	mu   sync.Mutex // guards what follows; may be held when l.mu is taken
	sock *sockstamp.Socket
	h    Handler // nil: nothing is expected
	out  []byte  // what is still to be written
	err  error   // why nothing is read any more

	begun    bool // Send was called
	unread   bool // something came before
	answered bool // something came since the last Send
	closed   bool
	lazy     bool   // it is in the loop's lazy instance
	calm     int    // reads in a row that came far enough after the one before
	lastNS   uint64 // stamp of the last read

	acked   uint64 // when it was closed
	ackedOK bool
}

// Stamps says which stamps the kernel takes, as [sockstamp.Socket.Stamps] does.
func (c *Conn) Stamps() (receive, transmit bool, why string) { return c.sock.Stamps() }

// Idle reports whether the connection can carry a request: it is open, none is
// in progress, and nothing came since the last.
func (c *Conn) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.err == nil && c.h == nil && len(c.out) == 0 && c.sock.Idle()
}

// Send begins to write p, which is used until it is written or the connection
// is closed, and lets h have what comes back. It does not wait. h may be called
// before it returns. If the connection is of no use, that is Closed.
func (c *Conn) Send(p []byte, h Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.err != nil || c.h != nil || len(c.out) > 0 {
		err := c.err
		if err == nil {
			err = ErrClosed
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
	// On loopback, and where a driver has nothing to wait for, the stamp is
	// there already. Taking it now spares the loop a wake-up.
	c.sock.DrainTx()
}

// rearm waits for what is of interest now; what is there already is reported.
func (c *Conn) rearm() {
	ep := c.l.eager
	if c.lazy {
		ep = c.l.lazy // it could not be moved
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

// Request returns when the request since the last Send left; see
// [sockstamp.Conn.Request].
func (c *Conn) Request() (start, sent sockstamp.Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.sock.DrainTx()
	}
	return c.sock.Request()
}

// Written returns how many bytes were written.
func (c *Conn) Written() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sock.Written()
}

// Acknowledged returns how many of the bytes written the other side has
// acknowledged, as [sockstamp.Conn.Acknowledged] does; after Close what was known
// then.
func (c *Conn) Acknowledged() (bytes uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		return c.sock.Acknowledged()
	}
	return c.acked, c.ackedOK
}

// Close closes the connection. When it has returned, no handler is called any
// more; the one of a request in progress is not told.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.sock.DrainTx()
	c.acked, c.ackedOK = c.sock.Acknowledged()
	c.closed, c.h, c.out = true, nil, nil
	c.l.remove(c)
	return unix.Close(c.fd)
}

// handle serves what happened on the connection.
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

// write writes what the send buffer takes.
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
		// A server that speaks first does not speak the protocol of the
		// request to come: let the handler see what it says.
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
		if c.l.gather.span > 0 {
			c.pace(at)
		}
		if n == len(buf) {
			c.rearm()
			return
		}
		if !ended {
			return
		}
	}
}

// fail ends the reading.
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

// pace decides from the times between reads whether the next one can wait.
func (c *Conn) pace(at sockstamp.Stamp) {
	gap := at.NS - c.lastNS
	switch {
	case !c.l.gathering || at.Source != sockstamp.Kernel || at.NS < c.lastNS || gap < uint64(calmSpans*c.l.gather.span):
		c.calm = 0
		c.move(false)
	case c.lastNS != 0:
		if c.calm++; c.calm >= calmReads {
			c.move(true)
		}
	}
	c.lastNS = at.NS
}

// move moves the connection into the loop's lazy instance or out of it. If
// something is ready already, it is reported there.
func (c *Conn) move(lazy bool) {
	if c.lazy == lazy || lazy && !c.stamped {
		return
	}
	from, to := c.l.lazy, c.l.eager
	if lazy {
		from, to = to, from
	}
	if control(to, unix.EPOLL_CTL_ADD, c.fd, c.events(), c.slot, c.gen) != nil {
		return // it may stay where it is
	}
	c.lazy = lazy
	// While it is in both, an event may be reported twice, which does no harm.
	_ = control(from, unix.EPOLL_CTL_DEL, c.fd, 0, c.slot, c.gen)
}
