package sockstamp

import "golang.org/x/sys/unix"

// first returns the beginning of p that leaves as one segment. unstamped is the
// number of bytes written before p whose transmit stamp is not known.
func (s *segment) first(fd int, p []byte, unstamped uint64) []byte {
	// If a server answered a request before it read all of it, the unread bytes wait
	// in the send buffer, and TCP joins the next request to them.
	if unstamped > smallestSegment {
		if waiting, err := unix.IoctlGetInt(fd, unix.SIOCOUTQNSD); err != nil || waiting > 0 {
			return p[:1]
		}
	}
	if s.fits(fd, len(p)) {
		return p
	}
	return p[:s.bytes]
}

// fits reports whether n bytes leave as one segment. It asks the kernel only if n
// exceeds the size that is known to fit; the path to the peer may have changed.
func (s *segment) fits(fd, n int) bool {
	if n <= max(s.bytes, smallestSegment) {
		return true
	}
	// The kernel's answer accounts for TCP's options and the peer's window. On
	// loopback it is about 32 or 64 kB.
	var err error
	if s.bytes, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG); err != nil || s.bytes <= 0 {
		s.bytes = smallestSegment
	}
	return n <= s.bytes
}
