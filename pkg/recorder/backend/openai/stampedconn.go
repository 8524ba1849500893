package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai/internal/http1"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

const (
	// afterBrokenWrite bounds the wait for an answer, such as 413, after the server
	// refused to read the request.
	afterBrokenWrite = time.Second
	// maxHeldBytes is the largest request buffer that is kept for the next request.
	maxHeldBytes = 1 << 20
)

// A stampedHTTPConn is the connection under the HTTP/1.1 client of net/http. It
// passes reads and writes on, and parses the answer on the way, to learn which read
// of the socket brought which byte of the body. The body's reader of net/http cannot
// tell: within a chunk it reads on until the chunk is complete or the caller's
// buffer is full, so that one Read of the body may span several of the socket.
//
// The parser also decides the end and the errors of an answer, because the errors of
// net/http name symptoms. Bytes that no request asked for do not reach net/http, which
// would print them.
type stampedHTTPConn struct {
	net.Conn // the socket, or TLS over it
	raw      *sockstamp.Conn
	b        *Backend
	clock    *rxclock.Clock

	// The request on its way, for the goroutine that writes.
	bodyBytes int
	total     int    // bytes of head and body; 0 until the head is complete
	held      []byte // bytes not yet written

	mu       sync.Mutex // guards what follows, never held while waiting
	parser   http1.Parser
	idle     bool   // no request is under way
	fresh    bool   // no request was sent yet
	begun    uint64 // ordinal of the last read before the request
	offset   uint64 // offset of the request's first byte in all that was written
	began    time.Time
	writeErr error
	readErr  error // error of the last read, also of a read before the request

	first    span  // read that brought the first byte of the answer; at.ns is 0 before it came
	newest   span  // last read
	headRead span  // read that completed the head
	body     int64 // bytes of the body read so far
	spans    []span
	past     int  // spans[:past] are no longer needed
	surplus  bool // bytes came that no request asked for
}

// A span is the part of a body that one read brought, up to byte end of the body.
type span struct {
	end  int64
	at   stamp
	read uint32
}

var errUnasked = errors.New("the server sent bytes that no request asked for")

var _ watcher = (*stampedHTTPConn)(nil)

func newStampedHTTPConn(l *dialedConn, b *Backend, clock *rxclock.Clock) *stampedHTTPConn {
	return &stampedHTTPConn{Conn: l.nc, raw: l.raw, b: b, clock: clock, idle: true, fresh: true}
}

// NetConn returns the connection below.
func (c *stampedHTTPConn) NetConn() net.Conn { return c.Conn }

// begin announces that the next bytes written are a request with bodyBytes bytes of
// body. No other request may be under way.
func (c *stampedHTTPConn) begin(method string, bodyBytes int) {
	c.bodyBytes, c.total = bodyBytes, 0
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parser.Reset(method)
	c.idle, c.fresh, c.writeErr = false, false, nil
	c.begun, c.offset, c.began = c.raw.LastRead().Ordinal, c.raw.Written(), time.Now()
	c.first, c.newest, c.headRead, c.body = span{}, span{}, span{}, 0
	c.spans, c.past = c.spans[:0], 0
	c.raw.Begin()
}

// Write collects the pieces in which net/http hands over a long request, and writes
// head and body at once. A large enough buffer in net/http on each of many
// connections would waste memory.
//
// Write never fails, because a server may answer a request that it refuses to read,
// and net/http does not wait for the answer after an error. cause returns the error.
func (c *stampedHTTPConn) Write(p []byte) (int, error) {
	out := p
	if len(c.held) > 0 || !c.isWhole(p) {
		if c.total > 0 {
			c.held = slices.Grow(c.held, max(c.total-len(c.held), len(p)))
		}
		c.held = append(c.held, p...)
		if !c.isWhole(c.held) {
			return len(p), nil
		}
		out = c.held
	}
	_, err := c.Conn.Write(out)
	c.held = c.held[:0]
	if cap(c.held) > maxHeldBytes {
		c.held = nil
	}
	if err != nil {
		c.mu.Lock()
		c.writeErr = err
		c.mu.Unlock()
		_ = c.SetReadDeadline(time.Now().Add(afterBrokenWrite)) // no answer is no worse than none in time
	}
	return len(p), nil
}

// isWhole reports whether b holds the whole request.
func (c *stampedHTTPConn) isWhole(b []byte) bool {
	if c.total == 0 {
		i := bytes.Index(b, []byte("\r\n\r\n"))
		if i < 0 {
			return false
		}
		c.total = i + 4 + c.bodyBytes
	}
	return len(b) >= c.total
}

// Read reads from the connection and parses the bytes.
func (c *stampedHTTPConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != io.EOF || c.readErr == nil { //nolint:errorlint // no Conn wraps it
		c.readErr = err // the kernel reports a reset once, and then EOF; textproto drops the first error of a head
	}
	if n == 0 {
		return 0, err
	}
	if c.idle {
		c.surplus, c.readErr = true, c.unasked(p[:n])
		return 0, c.readErr
	}
	c.stamp()
	c.parser.Feed(p[:n])
	for {
		switch c.parser.Next() {
		case http1.More:
			return n, err
		case http1.Head:
			c.headRead = c.newest
		case http1.Data:
			c.add(len(c.parser.Data()))
		case http1.End:
			c.idle = true
			rest := c.parser.Rest()
			c.surplus = rest > 0
			return max(0, n-rest), err
		case http1.Failed:
			return n, c.parser.Err()
		}
	}
}

// unasked returns the error for bytes p that came without a request. On a new
// connection the error names the protocol that the server speaks instead of HTTP/1.
func (c *stampedHTTPConn) unasked(p []byte) error {
	if c.fresh {
		c.parser.Reset("")
		c.parser.Feed(p)
		if c.parser.Next() == http1.Failed {
			return c.parser.Err()
		}
	}
	return errUnasked
}

// stamp stores the stamp of the read that just returned.
func (c *stampedHTTPConn) stamp() {
	c.newest = readOf(c.clock, c.raw.LastRead(), c.begun)
	if c.first.at.ns == 0 {
		c.first = c.newest
	}
}

// readOf returns the stamp and the number of a read; the first after begun has
// number 0. TLS may still have held the bytes from an earlier read; their stamp is
// the present time.
func readOf(clock *rxclock.Clock, st sockstamp.Stamp, begun uint64) span {
	if st.Ordinal <= begun {
		return span{at: nowOn(clock)}
	}
	return span{at: onClock(clock, st), read: uint32(st.Ordinal - begun - 1)}
}

// add records that the last read brought n more bytes of the body.
func (c *stampedHTTPConn) add(n int) {
	c.body += int64(n)
	if last := len(c.spans) - 1; last >= c.past && c.spans[last].read == c.newest.read {
		c.spans[last].end = c.body
		return
	}
	if c.past > 0 && len(c.spans) == cap(c.spans) { // the last span is needed until the next one is there
		c.spans, c.past = append(c.spans[:0], c.spans[c.past:]...), 0
	}
	s := c.newest
	s.end = c.body
	c.spans = append(c.spans, s)
}

// at returns the span that holds the byte of the body at offset. Offsets must not
// decrease.
func (c *stampedHTTPConn) at(offset int64) span {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; c.past < len(c.spans); c.past++ {
		if s := c.spans[c.past]; s.end > offset {
			return s
		}
	}
	s := c.newest // only if net/http and the parser disagreed
	s.end = endless
	return s
}

const endless = 1<<63 - 1

// head returns the reads that brought the answer's first byte and completed its head.
func (c *stampedHTTPConn) head() (first, whole span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first, c.headRead
}

// request returns the stamps of the write with the request's first byte and of its
// last byte. Call it soon after the answer begins.
func (c *stampedHTTPConn) request() (start, sent stamp) {
	first, last := c.raw.Request()
	return requestOnClock(c.clock, first, last)
}

// revised returns the revised stamps of the answer's reads.
func (c *stampedHTTPConn) revised() []revision {
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	return revisions(c.clock, c.raw, begun)
}

// answered reports whether any byte of an answer came.
func (c *stampedHTTPConn) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first.at.ns != 0
}

// notDelivered reports whether the server's side received nothing of the request, or
// was closing the connection when the request came.
func (c *stampedHTTPConn) notDelivered(error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.closing(c.began) || notDelivered(c.raw, c.offset)
}

// usable reports whether the bytes of the connection allow another request on it.
func (c *stampedHTTPConn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle && !c.surplus && c.writeErr == nil
}

// cause returns why there is no complete answer. err is the error of net/http.
func (c *stampedHTTPConn) cause(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch parseErr := c.parser.Err(); {
	case parseErr != nil:
		return parseErr
	case c.writeErr != nil && !errors.Is(c.writeErr, net.ErrClosed): // closed because of the bytes that were read
		return fmt.Errorf("while sending: %w", c.writeErr)
	case c.readErr == nil || c.idle:
		return backend.WithoutHTTPPrefix(err)
	case c.first.at.ns == 0 && c.surplus:
		return c.readErr
	case c.first.at.ns == 0:
		return &noAnswerError{c.readErr}
	case c.readErr == io.EOF: //nolint:errorlint // no Conn wraps it
		if c.parser.EOF() == http1.Failed {
			return c.parser.Err()
		}
		return err
	}
	return c.readErr
}
