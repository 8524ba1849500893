package backend

import (
	"fmt"
	"slices"
)

// A Reuse chooses the connection of a request.
type Reuse uint8

// The values of --connection-reuse.
const (
	// Keep keeps a sender's connection for all requests. The first request opens it, and
	// its time includes that.
	Keep Reuse = iota
	// Fresh opens a connection for every request and closes it afterwards.
	Fresh
	// Prewarm is Keep with connections that Backend.Open opens before the load, including
	// TLS.
	Prewarm
)

var reuseNames = [...]string{"reuse", "fresh", "prewarm"}

// String returns "reuse", "fresh" or "prewarm".
func (r Reuse) String() string {
	if int(r) < len(reuseNames) {
		return reuseNames[r]
	}
	return fmt.Sprintf("Reuse(%d)", uint8(r))
}

// ParseReuse is the inverse of String.
func ParseReuse(name string) (Reuse, error) {
	if i := slices.Index(reuseNames[:], name); i >= 0 {
		return Reuse(i), nil
	}
	return Keep, fmt.Errorf("unknown connection reuse %q; it is reuse, fresh or prewarm", name)
}
