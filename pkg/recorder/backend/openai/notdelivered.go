package openai

import "time"

// closingTime is the longest time from a request on a kept connection to the end of the
// connection after which the server counts as having closed it before the request came.
// llama.cpp closes after every stream without announcing it; a request sent meanwhile is
// acknowledged and dropped unread.
const closingTime = 50 * time.Millisecond

// closing reports whether the server was closing a connection that has just ended when a
// request was sent on it.
func (b *Backend) closing(sent time.Time) bool { return time.Since(sent) < b.closingTime }

// A carrier is a connection that counts the acknowledged bytes.
type carrier interface {
	// Written returns the number of bytes written.
	Written() uint64
	// Acknowledged returns the number of bytes that the server's side acknowledged; ok is
	// false on systems that do not report it.
	Acknowledged() (bytes uint64, ok bool)
}

// notDelivered reports whether the server's side has acknowledged none of the bytes
// written from offset begin on, so that the request can be sent again without being served
// twice. A server that ends a connection acknowledges all received bytes with the same
// segment. (A reset within some 40 ms, while TCP may withhold an acknowledgement, looks
// like a connection that was gone before.) On systems that do not report acknowledgements,
// notDelivered reports whether nothing was written.
func notDelivered(c carrier, begin uint64) bool {
	if n, ok := c.Acknowledged(); ok {
		return n <= begin
	}
	return c.Written() == begin
}
