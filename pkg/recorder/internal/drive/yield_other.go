//go:build !linux

package drive

// A pollerQueue does nothing on this system.
type pollerQueue struct{}

func (*pollerQueue) open()  {}
func (*pollerQueue) pass()  {}
func (*pollerQueue) close() {}
