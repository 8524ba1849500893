//go:build linux || darwin

package openai

import (
	"errors"
	"net"
	"syscall"
)

// alive reports whether an idle connection can be used: the server has neither
// closed it nor said anything unasked, which within TLS it may. A request on a
// closed one would be answered by a reset and be sent again, so this mostly
// saves time; llama.cpp closes after every stream and does not say so.
func alive(nc net.Conn, secure bool) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true // no socket to look at; the write will tell
	}
	idle := false
	err = rc.Control(func(fd uintptr) { // Read would wait for the one that net/http has under way
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		idle = errors.Is(err, syscall.EAGAIN) || secure && err == nil && n > 0
	})
	return err == nil && idle
}
