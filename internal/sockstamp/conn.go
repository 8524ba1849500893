package sockstamp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Options say which stamps a connection takes. The zero value asks for all.
type Options struct {
	// User takes all stamps in user space, to compare.
	User bool
	// NoTransmit takes transmit stamps in user space. Each kernel one costs a
	// waiting reader a wake-up.
	NoTransmit bool
	// KeepTransmit is how many transmit stamps a connection keeps at least;
	// it may keep twice as many, of 16 bytes each. 0 means 128. Connections
	// that many requests share at the same time need as many as there are
	// writes between a request and the question for its stamps.
	KeepTransmit int
}

const defaultKeepTransmit = 128

// keepTransmit returns KeepTransmit or its default.
func (o Options) keepTransmit() int {
	if o.KeepTransmit > 0 {
		return o.KeepTransmit
	}
	return defaultKeepTransmit
}

// A Conn is a connection that knows when the bytes that it read arrived and when the
// bytes that it wrote left. Its methods may be called concurrently, like the methods of
// any [net.Conn], but stamps are meaningful only with one reader and one writer at a
// time.
//
// It has neither ReadFrom nor WriteTo, so that all bytes pass its Read and Write.
type Conn struct {
	nc  net.Conn
	rc  syscall.RawConn // nil: all stamps in user space
	rx  bool            // the kernel takes receive stamps
	tx  bool            // and transmit stamps
	why string          // why not

	// Made once, so that reads allocate nothing.
	receiveFD func(fd uintptr) bool // receive
	pollFD    func(fd uintptr)      // receive, into rd.done
	writeFD   func(fd uintptr) bool // transmit
	drainFD   func(fd uintptr)      // drain

	rmu sync.Mutex // serializes reads
	rd  read

	wmu sync.Mutex // serializes writes
	wr  write

	mu    sync.Mutex // guards what follows, never held while waiting
	last  Stamp
	holes holes // in what arrived
	sent  sentStamps
	acked ackedBytes // when last asked
}

// A read is the state of the Read in progress.
type read struct {
	p     []byte
	n     int
	err   error
	waits int  // times that there was nothing
	done  bool // what pollFD's receive returned
	oob   [controlBytes]byte
}

// A write is the state of the Write in progress.
type write struct {
	p       []byte
	n       int    // bytes of it that are written
	apart   bool   // the next part is written by itself, see SeparateNext
	before  uint64 // bytes before the write that may not have left
	segment segment
	err     error
}

// controlBytes is the room for control messages that recv needs.
const controlBytes = 128

// Wrap returns a Conn that takes over nc, with all stamps that the kernel
// gives. See [Options.Wrap].
func Wrap(nc net.Conn) (*Conn, error) { return Options{}.Wrap(nc) }

// Wrap returns a Conn that takes over nc: if anybody else reads or writes nc, stamps get
// lost. It is no error if the kernel takes no stamps on nc: see [Conn.Stamps]. Wrap
// fails if nc is closed, and then leaves it unchanged. It returns a Conn unchanged.
func (o Options) Wrap(nc net.Conn) (*Conn, error) {
	if c, ok := nc.(*Conn); ok {
		return c, nil
	}
	c := o.userConn(nc)
	if o.User {
		c.why = "not asked for"
		return c, nil
	}
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		c.why = fmt.Sprintf("%T is not a TCP socket", nc)
		return c, nil
	}
	rc, err := tc.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("stamp a connection: %w", err)
	}
	if err := c.enable(rc, !o.NoTransmit); err != nil {
		return nil, fmt.Errorf("stamp a connection: %w", err)
	}
	return c, nil
}

// userConn returns a Conn without the kernel's stamps.
func (o Options) userConn(nc net.Conn) *Conn {
	c := &Conn{nc: nc}
	c.sent.log.keep = o.keepTransmit()
	return c
}

// Of returns the Conn that nc is, or that nc wraps and returns by a method NetConn, as
// [tls.Conn] does.
func Of(nc net.Conn) (*Conn, bool) {
	for {
		if c, ok := nc.(*Conn); ok {
			return c, true
		}
		over, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nil, false
		}
		nc = over.NetConn()
	}
}

// Stamps says which stamps the kernel takes, and why it does not take all; why is empty
// when it does. The kernel may still lack the stamps of single reads and writes: a
// device's driver need not take transmit stamps.
func (c *Conn) Stamps() (receive, transmit bool, why string) { return c.rx, c.tx, c.why }

// LastRead returns the stamp of the last Read that returned something, without
// ever waiting for one in progress. The zero Stamp means that there was none.
func (c *Conn) LastRead() Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Read reads as a [net.TCPConn] does, with the same errors.
func (c *Conn) Read(p []byte) (int, error) {
	if c.rc == nil || len(p) == 0 {
		n, err := c.nc.Read(p)
		if n > 0 {
			c.note(Stamp{NS: userNow(), Source: User})
		}
		return n, err
	}
	c.rmu.Lock()
	defer c.rmu.Unlock()
	c.rd.p, c.rd.waits = p, 0
	err := c.rc.Read(c.receiveFD)
	if err != nil && !isFinal(err) {
		err = c.readByPolling()
	}
	c.rd.p = nil
	if err == nil {
		err = c.rd.err
	}
	switch {
	case err == io.EOF: //nolint:errorlint // recv does not wrap it, and callers compare
		return 0, err
	case err != nil:
		return 0, c.callError("read", err)
	}
	return c.rd.n, nil
}

// note makes st the last read.
func (c *Conn) note(st Stamp) {
	c.mu.Lock()
	st.Ordinal = c.last.Ordinal + 1
	c.last = st
	c.mu.Unlock()
}

// noteOn makes st the last read, which was of the socket fd.
func (c *Conn) noteOn(fd int, st Stamp) {
	c.mu.Lock()
	st.Ordinal = c.last.Ordinal + 1
	c.holes.check(fd, &st)
	c.last = st
	c.mu.Unlock()
}

// isFinal reports whether an error of the poller is one that a read ends with.
func isFinal(err error) bool {
	var ne net.Error
	return errors.Is(err, net.ErrClosed) || errors.As(err, &ne) && ne.Timeout()
}

// readByPolling goes on with a read that Go's poller refuses. When the only
// event of a socket is EPOLLERR, the poller (since Go 1.14) declares that it
// cannot be polled, until there is another event. For a socket it means that a
// transmit stamp came while the send buffer is full. What will end that state
// cannot be waited for, so look every millisecond; the kernel's stamps do not
// get worse by that.
func (c *Conn) readByPolling() error {
	const most = time.Millisecond
	for wait := most / 16; ; wait = min(2*wait, most) {
		if err := c.rc.Control(c.pollFD); err != nil || c.rd.done {
			return err
		}
		time.Sleep(wait)
		if err := c.rc.Read(c.receiveFD); err == nil || isFinal(err) {
			return err
		}
	}
}

// callError returns the error of a system call or of the poller as TCPConn has
// it.
func (c *Conn) callError(op string, err error) error {
	var oe *net.OpError
	if errors.As(err, &oe) {
		err = oe.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = os.NewSyscallError(op, errno) // by net's name for the call
	}
	return c.opError(op, err)
}

// Write writes as a [net.TCPConn] does, with the same errors.
func (c *Conn) Write(p []byte) (int, error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if len(p) == 0 {
		return c.nc.Write(p)
	}
	c.mu.Lock()
	apart, before := c.sent.before()
	c.mu.Unlock()
	var err error
	if c.tx {
		c.wr.p, c.wr.n, c.wr.apart, c.wr.before, c.wr.err = p, 0, apart, before, nil
		if err = c.rc.Write(c.writeFD); err == nil {
			err = c.wr.err
		}
		if err != nil {
			err = c.callError("write", err)
		}
		c.wr.p = nil
	} else {
		c.wr.n, err = c.nc.Write(p)
		c.mu.Lock()
		c.sent.part(c.wr.n)
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.sent.after()
	c.mu.Unlock()
	return c.wr.n, err
}

// Close collects the transmit stamps, the revised stamps and the acknowledged offset, and
// closes the connection.
func (c *Conn) Close() error {
	c.mu.Lock()
	outstanding := c.sent.outstanding()
	c.mu.Unlock()
	if c.tx && outstanding {
		c.DrainTx()
	}
	c.settle()
	c.Acknowledged()
	return c.nc.Close()
}

// CloseRead closes the reading side, where there is such a thing.
func (c *Conn) CloseRead() error {
	if h, ok := c.nc.(interface{ CloseRead() error }); ok {
		return h.CloseRead()
	}
	return c.opError("close", errors.ErrUnsupported)
}

// CloseWrite closes the writing side, where there is such a thing.
func (c *Conn) CloseWrite() error {
	if h, ok := c.nc.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return c.opError("close", errors.ErrUnsupported)
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: c.nc.LocalAddr().Network(), Source: c.nc.LocalAddr(), Addr: c.nc.RemoteAddr(), Err: err}
}

// LocalAddr returns the local address.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// SetDeadline sets the deadline of reads and writes, also of calls in progress.
func (c *Conn) SetDeadline(t time.Time) error { return c.nc.SetDeadline(t) }

// SetReadDeadline sets the deadline of reads.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.nc.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.nc.SetWriteDeadline(t) }

// SyscallConn returns the raw connection, to look at, not to read from or
// write to.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return nil, c.opError("raw-control", errors.ErrUnsupported)
	}
	return sc.SyscallConn()
}
