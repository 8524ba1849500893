//go:build !linux

package sockstamp

// Hold does nothing: only Linux's stamps need holding.
func Hold() (release func()) { return func() {} }
