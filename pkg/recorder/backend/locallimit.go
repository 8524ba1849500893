package backend

import (
	"errors"
	"strings"
	"syscall"

	"github.com/pa-tools/pa/pkg/export"
)

// localLimits lists the limits of this machine that prevent connections.
var localLimits = []struct {
	err  syscall.Errno
	text string
}{
	{syscall.EMFILE, "too many open files; raise ulimit -n"},
	{syscall.ENFILE, "too many open files on this machine; raise fs.file-max"},
	{syscall.EADDRNOTAVAIL, "no local port left (cannot assign requested address); keep connections, or widen net.ipv4.ip_local_port_range"},
}

// localLimit describes the limit of this machine that caused err, and what to do. It
// returns "" if err has another cause.
func localLimit(err error) string {
	for _, l := range localLimits {
		if errors.Is(err, l.err) {
			return l.text
		}
	}
	return ""
}

// MetLocalLimit reports whether a request failed because of a limit of this machine: its
// message contains a text of [localLimit].
func MetLocalLimit(r *export.Request) bool {
	if r.Status != export.StatusConnectError {
		return false
	}
	for _, l := range localLimits {
		if strings.Contains(r.Message, l.text) {
			return true
		}
	}
	return false
}
