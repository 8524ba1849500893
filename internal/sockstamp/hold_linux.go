package sockstamp

import (
	"time"

	"golang.org/x/sys/unix"
)

// holdWait bounds the waiting of Hold.
const holdWait = 200 * time.Millisecond

// Hold makes sure that the kernel stamps what arrives, until release is called.
//
// Linux stamps packets only while some socket of the machine asks for it, and
// begins some milliseconds after the first one does: without this the first
// reads of a run lack their stamps. Hold keeps a socket that asks, and returns
// when a datagram that it sends to itself over loopback comes stamped, or when
// that does not happen soon. Where there is nothing to hold it does nothing.
func Hold() (release func()) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return func() {}
	}
	release = func() { _ = unix.Close(fd) }
	if on, _ := setStamps(fd, false); on == 0 {
		return release
	}
	if unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}) != nil {
		return release
	}
	self, err := unix.Getsockname(fd)
	if err != nil {
		return release
	}
	var p [1]byte
	var oob [controlBytes]byte
	for deadline := time.Now().Add(holdWait); time.Now().Before(deadline); {
		if unix.Sendto(fd, p[:], 0, self) != nil {
			return release
		}
		// Loopback delivers inside the call.
		if _, st, err := recv(fd, p[:], oob[:]); err == nil && st.Source == Kernel {
			return release
		}
		time.Sleep(time.Millisecond)
	}
	return release
}
