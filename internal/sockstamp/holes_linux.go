package sockstamp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// outOfOrderOn returns how many segments the TCP socket fd has received out of order. ok is
// false before Linux 5.4, which does not count them.
func outOfOrderOn(fd int) (count uint32, ok bool) {
	var info unix.TCPInfo
	size := uint32(unsafe.Sizeof(info))
	// unix.GetsockoptTCPInfo allocates.
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	const end = unsafe.Offsetof(info.Rcv_ooopack) + unsafe.Sizeof(info.Rcv_ooopack)
	return info.Rcv_ooopack, errno == 0 && uintptr(size) >= end
}

// Revised returns the stamps that replace the kernel's stamps of reads after the read with
// the given ordinal, as [Conn.Revised] does. The result is valid until the next call of
// Begin or Read. The socket must be open unless Settle was called after the last read.
func (s *Socket) Revised(ordinal uint64) []Stamp {
	s.Settle()
	return s.holes.after(ordinal)
}

// Settle decides which stamps of the reads so far are revised. It is for the owner that
// closes the socket.
func (s *Socket) Settle() { s.holes.settle(s.fd) }
