//go:build !linux

package backend

import "syscall"

// lateBind does nothing: other systems have no such option.
func lateBind(_, _ string, _ syscall.RawConn) error { return nil }
