//go:build !linux

package sockstamp

import (
	"runtime"
	"syscall"
)

func (c *Conn) enable(syscall.RawConn, bool) error {
	c.why = "no kernel stamps on " + runtime.GOOS
	return nil
}

// DrainTx collects the transmit stamps that are there. It never waits.
func (c *Conn) DrainTx() {}

func (s *segment) fits(int, int) bool { return true }
