package backend

import "fmt"

// A Reuse says which connection a request goes out on.
type Reuse uint8

// Values of --connection-reuse.
const (
	// Keep keeps a sender's connection from request to request and opens it
	// with the first one, which pays for it.
	Keep Reuse = iota
	// Fresh opens a connection for every request and closes it afterwards.
	Fresh
	// Prewarm is Keep, but connections are opened, TLS included, before the
	// load, by Backend.Open.
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
	for i, n := range reuseNames {
		if n == name {
			return Reuse(i), nil
		}
	}
	return Keep, fmt.Errorf("unknown connection reuse %q; it is reuse, fresh or prewarm", name)
}
