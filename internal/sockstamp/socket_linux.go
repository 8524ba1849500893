package sockstamp

import (
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	receiveFlags  = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	transmitFlags = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
)

// enable asks the kernel for stamps. A refusal is no error.
func (c *Conn) enable(rc syscall.RawConn, transmit bool) error {
	var on int
	var refused error
	if err := rc.Control(func(fd uintptr) { on, refused = setStamps(int(fd), transmit) }); err != nil {
		return err
	}
	c.why = whyNot(on, transmit, refused)
	if on != 0 {
		c.attach(rc, on)
	}
	return nil
}

// whyNot says why not all stamps are on.
func whyNot(on int, transmit bool, refused error) string {
	switch {
	case on == 0:
		return fmt.Sprintf("the kernel refuses SO_TIMESTAMPING: %v", refused)
	case !transmit:
		return "transmit stamps were not asked for"
	case on&transmitFlags == 0:
		return fmt.Sprintf("the kernel refuses transmit stamps: %v", refused)
	}
	return ""
}

// attach makes c use the stamps that are on.
func (c *Conn) attach(rc syscall.RawConn, on int) {
	c.rc, c.rx, c.tx = rc, true, on&transmitFlags != 0
	c.receiveFD = c.receive
	c.writeFD = c.transmit
	c.pollFD = func(fd uintptr) { c.rd.done = c.receive(fd) }
	c.drainFD = func(fd uintptr) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent.drain(int(fd))
	}
}

// setStamps sets the most flags that the kernel takes and returns them; 0: it
// takes none. The error says why they are not all.
func setStamps(fd int, transmit bool) (on int, refused error) {
	if transmit {
		// OPT_ID numbers bytes. With OPT_ID_TCP the first byte written from
		// now on is 0.
		on = receiveFlags | transmitFlags | unix.SOF_TIMESTAMPING_OPT_ID_TCP
		if refused = setFlags(fd, on); refused == nil {
			return on, nil
		}
		on = receiveFlags | transmitFlags
		if refused = setFlagsBefore62(fd, on); refused == nil {
			return on, nil
		}
	}
	if err := setFlags(fd, receiveFlags); err != nil {
		return 0, err
	}
	return receiveFlags, refused
}

// setFlagsBefore62 sets flags without OPT_ID_TCP, which Linux 6.2 brought. Byte
// 0 is then the first that is not acknowledged now, which is the first written
// from now on if there is none.
func setFlagsBefore62(fd, flags int) error {
	unacked, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	switch {
	case err != nil:
		return err
	case unacked != 0:
		return fmt.Errorf("%d bytes were written before and are not acknowledged yet", unacked)
	}
	return setFlags(fd, flags)
}

// setFlags sets the option; in 32-bit processes the one whose seconds have 64
// bits, if the kernel (5.1) has it.
func setFlags(fd, flags int) error {
	if wordBytes == 4 && unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING_NEW, flags) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING_OLD, flags)
}

// recv reads from a socket that has stamps enabled, once and without waiting,
// as recvmsg with MSG_DONTWAIT does. oob is room for control messages, at least
// controlBytes. It allocates nothing.
//
// The stamp has no ordinal; it is a user-space one when the kernel gave none.
// The error is [io.EOF] at the end of the stream and a [unix.Errno] otherwise,
// EAGAIN when there is nothing to read (then the error queue may hold
// something), never EINTR. p must not be empty.
func recv(fd int, p, oob []byte) (n int, st Stamp, err error) {
	n, oobn, flags, errno := recvmsg(fd, p, oob, unix.MSG_DONTWAIT)
	switch {
	case errno != 0:
		return 0, Stamp{}, errno
	case n == 0:
		return 0, Stamp{}, io.EOF
	}
	// A truncated message lacks its end: parseControl stops before it.
	if c := parseControl(oob[:oobn], wordBytes); c.ns != 0 && flags&unix.MSG_CTRUNC == 0 {
		return n, Stamp{NS: c.ns, Source: Kernel}, nil
	}
	return n, Stamp{NS: userNow(), Source: User}, nil
}

// recvmsg is the system call, repeated while a signal interrupts it.
// unix.Recvmsg allocates for the address that TCP does not have. flags must hold
// MSG_DONTWAIT: the scheduler is not told of a call that cannot wait.
func recvmsg(fd int, p, oob []byte, flags int) (n, oobn, rflags int, errno unix.Errno) {
	const most = 1 << 30 // what net asks for at most
	var iov unix.Iovec
	iov.Base = unsafe.SliceData(p)
	iov.SetLen(min(len(p), most))
	for {
		var h unix.Msghdr
		h.Iov = &iov
		h.SetIovlen(1)
		h.Control = unsafe.SliceData(oob)
		h.SetControllen(len(oob))
		r, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&h)), uintptr(flags))
		switch errno {
		case 0:
			return int(r), int(h.Controllen), int(h.Flags), 0
		case unix.EINTR:
		default:
			return 0, 0, 0, errno
		}
	}
}

// receive is one attempt of Read. It returns false if it must be called again when the
// socket is readable.
func (c *Conn) receive(fd uintptr) bool {
	r := &c.rd
	drained := false
	if c.tx {
		// The error queue comes first, because a stamp on it counts as unread bytes.
		// While there are some, Linux delays the acknowledgement of read bytes
		// (tcp_cleanup_rbuf), and a server that begins to answer at once would stall for
		// 10 ms or more.
		c.mu.Lock()
		if drained = c.sent.expected(); drained {
			c.sent.drain(int(fd))
		}
		c.mu.Unlock()
	}
	var st Stamp
	if r.n, st, r.err = recv(int(fd), r.p, r.oob[:]); r.err == nil {
		c.noteOn(int(fd), st)
	}
	if r.err != unix.EAGAIN { //nolint:errorlint // recv does not wrap it
		return true
	}
	// Nothing to read. Was it the error queue that woke the reader? Then it
	// must be emptied, or it grows; the poller reports changes only, so that it
	// does not wake the reader again by itself.
	if c.tx && !drained && r.waits > 0 {
		c.mu.Lock()
		c.sent.drain(int(fd))
		c.mu.Unlock()
	}
	r.waits++
	return false
}

// transmit is one round of Write. It returns false if it must be called again when the
// send buffer has room.
func (c *Conn) transmit(fd uintptr) bool {
	const most = 1 << 30 // what net writes at most
	w := &c.wr
	for {
		var n int
		var err error
		if w.apart {
			n, err = sendEnd(int(fd), w.segment.first(int(fd), w.p[w.n:], w.before))
		} else {
			n, err = unix.Write(int(fd), w.p[w.n:min(len(w.p), w.n+most)])
		}
		switch {
		case err == unix.EINTR: //nolint:errorlint // neither wraps it
			continue
		case err == unix.EAGAIN: //nolint:errorlint // see above
			return false
		case err != nil:
			w.err = err
			return true
		case n == 0:
			w.err = io.ErrUnexpectedEOF
			return true
		}
		w.n += n
		w.apart = false
		c.mu.Lock()
		c.sent.part(n)
		if c.sent.unread >= maxUnread {
			c.sent.drain(int(fd))
		}
		c.mu.Unlock()
		if w.n == len(w.p) {
			return true
		}
	}
}

// sendEnd writes p, which is not empty, as write does, and keeps TCP from joining anything
// to its end. It informs the scheduler, as every write of a Conn does.
func sendEnd(fd int, p []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|unix.MSG_EOR, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// DrainTx collects the transmit stamps that are there. It never waits. Reads
// do the same when they find nothing; DrainTx is for callers that only write.
func (c *Conn) DrainTx() {
	if c.tx {
		_ = c.rc.Control(c.drainFD) // fails if it is closed: nothing to collect any more
	}
}

// drain reads the error queue until it is empty or has given the stamp of the
// last byte written and no write is in progress. An error that is pending on the socket stays where it is.
func (s *sentStamps) drain(fd int) {
	const most = 1024 // stamps may come as fast as they are read
	var oob [2 * controlBytes]byte
	s.unread = 0
	for range most {
		_, oobn, _, errno := recvmsg(fd, nil, oob[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if errno != 0 {
			s.empty++
			return
		}
		ctl := parseControl(oob[:oobn], wordBytes)
		if !ctl.transmit || ctl.ns == 0 {
			continue
		}
		s.transmitted(ctl.id, ctl.ns)
		// Bytes of a write in progress may have left, but do not count yet.
		if s.log.stamped == s.written && !s.writing {
			return
		}
	}
}
