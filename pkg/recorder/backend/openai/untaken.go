package openai

import "time"

// closingTime is how soon after a request on a kept connection its end is taken
// for what the server had decided before the request came. llama.cpp, for one,
// closes after every stream without saying so; the request that was sent
// meanwhile is acknowledged and dropped unread.
const closingTime = 50 * time.Millisecond

// closing reports whether a connection that ended now was ending when a request
// was sent on it.
func (b *Backend) closing(sent time.Time) bool { return time.Since(sent) < b.closingTime }

// A carrier is a connection that knows what became of the bytes written to it.
type carrier interface {
	// Written returns how many there were.
	Written() uint64
	// Acknowledged returns how many of them the server's side has acknowledged.
	// ok is false where the system does not tell.
	Acknowledged() (bytes uint64, ok bool)
}

// untaken reports whether the server's side has acknowledged nothing of what
// was written from offset begin on, so that the request can be sent again
// without being served twice. A server that ends a connection acknowledges all
// that it has with the same segment. (Not if it resets it within the moment for
// which TCP may withhold an acknowledgement, some 40 ms: that looks like a
// connection that was gone.) Where the system does not tell, nothing may have
// been written.
func untaken(c carrier, begin uint64) bool {
	if n, ok := c.Acknowledged(); ok {
		return n <= begin
	}
	return c.Written() == begin
}
