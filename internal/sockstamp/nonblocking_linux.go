package sockstamp

import (
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Socket takes the stamps of a TCP socket without [net.Conn] and Go's poller, for an
// event loop that waits by other means; otherwise use a [Conn]. It never blocks. One
// goroutine at a time may use it. It does not own the socket: the owner closes it, and
// afterwards calls nothing but Request, Revised and Stamps. Sockets exist on Linux only.
type Socket struct {
	fd      int
	on      int    // the kernel's stamps
	why     string // why not all
	read    uint64 // ordinal of the last read
	holes   holes  // in what arrived
	sent    sentStamps
	segment segment
	oob     [controlBytes]byte
}

// Socket asks the kernel for the stamps of the socket fd, to which nothing was written
// before. A refusal is no error; see [Socket.Stamps].
func (o Options) Socket(fd int) *Socket {
	s := &Socket{fd: fd, why: "not asked for"}
	s.sent.log.keep = o.keepTransmit()
	if !o.User {
		on, refused := setStamps(fd, !o.NoTransmit)
		s.on, s.why = on, whyNot(on, !o.NoTransmit, refused)
	}
	return s
}

// Stamps says which stamps the kernel takes, as [Conn.Stamps] does.
func (s *Socket) Stamps() (receive, transmit bool, why string) {
	return s.on != 0, s.on&transmitFlags != 0, s.why
}

// Read is one recv; p must not be empty. The stamp has its ordinal. Stamps of
// writes that are there are collected before, see receive.
func (s *Socket) Read(p []byte) (n int, st Stamp, err error) {
	if s.on&transmitFlags != 0 && s.sent.expected() {
		s.sent.drain(s.fd)
	}
	n, st, err = recv(s.fd, p, s.oob[:])
	if err == nil {
		s.read++
		st.Ordinal = s.read
		s.holes.check(s.fd, &st)
	}
	return n, st, err
}

// Idle reports whether there is nothing to read: no byte, no end of the stream
// and no error, which this takes from the socket.
func (s *Socket) Idle() bool {
	for {
		var b [1]byte
		_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(&b)), 1,
			unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return errno == unix.EAGAIN
		}
	}
}

// Begin says that the next write begins with the first byte of a request. If it
// does not fit in one segment its first segment is written by itself; see
// [Conn.SeparateNext].
func (s *Socket) Begin() {
	s.sent.start()
	s.holes.revised = s.holes.revised[:0]
}

// Write writes as much of p, which must not be empty, as the send buffer takes. It
// returns fewer bytes with EAGAIN when the buffer is full, or with another [unix.Errno].
func (s *Socket) Write(p []byte) (n int, err error) {
	apart, before := s.sent.before()
	apart = apart && s.on&transmitFlags != 0
	defer s.sent.after()
	for n < len(p) {
		part, flags := p[n:], 0
		if apart {
			part, flags = s.segment.first(s.fd, part, before), unix.MSG_EOR
		}
		m, err := send(s.fd, part, flags)
		if err != nil {
			s.sent.separate = apart // nothing of it was written
			return n, err
		}
		n += m
		apart = false
		s.sent.part(m)
		if s.on&transmitFlags != 0 && s.sent.unread >= maxUnread {
			s.sent.drain(s.fd)
		}
	}
	return n, nil
}

// send is the system call, repeated while a signal interrupts it.
func send(fd int, p []byte, flags int) (int, error) {
	const most = 1 << 30 // what net writes at most
	p = p[:min(len(p), most)]
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|uintptr(flags), 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.ErrUnexpectedEOF
		default:
			return int(n), nil
		}
	}
}

// DrainTx collects the transmit stamps that are there, if some can be.
func (s *Socket) DrainTx() {
	if s.on&transmitFlags != 0 && s.sent.log.stamped < s.sent.written {
		s.sent.drain(s.fd)
	}
}

// Request returns when the request since Begin left, as [Conn.Request] does,
// as far as that is known: DrainTx may bring it to light.
func (s *Socket) Request() (start, sent Stamp) { return s.sent.request() }
