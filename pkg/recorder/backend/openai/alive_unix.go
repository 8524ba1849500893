//go:build linux || darwin

package openai

import (
	"errors"
	"net"
	"syscall"
)

// alive reports whether an idle connection can be used: the server has neither closed it
// nor sent bytes, which TLS allows. A request on a closed connection would fail with a
// reset and be sent again, so the check mostly saves time. llama.cpp closes the connection
// after every stream without announcing it.
func alive(nc net.Conn, secure bool) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true // there is no socket; the write will fail
	}
	idle := false
	err = rc.Control(func(fd uintptr) { // Read would wait for the read of net/http
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		idle = errors.Is(err, syscall.EAGAIN) || secure && err == nil && n > 0
	})
	return err == nil && idle
}
