package sockstamp

import "golang.org/x/sys/unix"

// ackedOn asks the kernel how many of the bytes written to a socket are acknowledged.
// Linux (since 4.1) also counts the SYN, which is acknowledged on every connection
// opened from here, so 0 means that the kernel does not count.
func ackedOn(fd uintptr) ackedBytes {
	info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Bytes_acked == 0 {
		return ackedBytes{}
	}
	return ackedBytes{bytes: info.Bytes_acked - 1, ok: true}
}

// Written returns how many bytes were written.
func (s *Socket) Written() uint64 { return s.sent.written }

// Acknowledged returns how many of the bytes written the other side's TCP has
// acknowledged, as [Conn.Acknowledged] does.
func (s *Socket) Acknowledged() (bytes uint64, ok bool) {
	a := ackedOn(uintptr(s.fd))
	return a.bytes, a.ok
}
