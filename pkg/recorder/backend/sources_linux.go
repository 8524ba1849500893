package backend

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// lateBind makes the kernel choose a local port in connect instead of bind.
func lateBind(_, _ string, c syscall.RawConn) error {
	var err error
	if controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); controlErr != nil {
		return controlErr
	}
	return err
}
