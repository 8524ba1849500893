package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai/http1"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

const (
	// afterBrokenWrite is how long to look for an answer, such as 413, after
	// the server refused to read the request.
	afterBrokenWrite = time.Second
	// maxHeldBytes is how large the memory for a request may be that is kept
	// for the next one.
	maxHeldBytes = 1 << 20
)

// A follower is the connection under the HTTP/1.1 client of net/http. It
// passes on what is written and read, and parses the answer in passing: only so
// is it known which read brought which byte of the body. What net/http gives
// would not do. Its reader of chunks returns early at a chunk's end, but within
// a chunk it reads on until that is complete or the caller's buffer full, so
// one Read of the body may span several of the socket.
//
// The parser is also the judge of what is wrong with an answer, since net/http
// tells of the symptom, and of when it ends: bytes that nobody asked for do not
// get to net/http, which would print them.
type follower struct {
	net.Conn // the socket, or TLS over it
	raw      *sockstamp.Conn
	b        *Backend

	// The request on its way, for the goroutine that writes.
	bodyBytes int
	total     int    // bytes of head and body; 0: the head is not there yet
	held      []byte // the first of them

	mu       sync.Mutex // guards what follows, never held while waiting
	parser   http1.Parser
	idle     bool   // no request is under way
	fresh    bool   // nor was there one before
	begun    uint64 // ordinal of the last read before the request
	offset   uint64 // of its first byte
	began    time.Time
	writeErr error
	readErr  error // of the last read, also of one before the request

	first    stamp // of the first byte of the answer; ns 0: there was none
	newest   span  // of the last read
	headRead span  // of the read that completed the head
	body     int64 // bytes of it that were read
	spans    []span
	past     int // spans[:past] are not needed any more
	surplus  bool
}

// A span is the part of a body that a read brought: up to byte end of it.
type span struct {
	end  int64
	at   stamp
	read uint32
}

var errUnasked = errors.New("the server sent something that was not asked for")

var _ watcher = (*follower)(nil)

func newFollower(l *link, b *Backend) *follower {
	return &follower{Conn: l.nc, raw: l.raw, b: b, idle: true, fresh: true}
}

// NetConn returns what the follower is on top of.
func (f *follower) NetConn() net.Conn { return f.Conn }

// begin says that the next bytes written are a request with that many bytes of
// body. There is none under way.
func (f *follower) begin(method string, bodyBytes int) {
	f.bodyBytes, f.total = bodyBytes, 0
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parser.Reset(method)
	f.idle, f.fresh, f.writeErr = false, false, nil
	f.begun, f.offset, f.began = f.raw.LastRead().Ordinal, f.raw.Written(), time.Now()
	f.first, f.newest, f.headRead, f.body = stamp{}, span{}, span{}, 0
	f.spans, f.past = f.spans[:0], 0
	f.raw.Begin()
}

// Write writes a request at once, head and body: net/http hands it over in
// pieces when it is longer than net/http's buffer, and a buffer for the longest
// request on each of many connections would be a waste.
//
// It never fails. A server may answer a request that it does not want to read,
// and net/http would not wait for that; what the write came to is known to
// cause.
func (f *follower) Write(p []byte) (int, error) {
	out := p
	if len(f.held) > 0 || !f.isWhole(p) {
		if f.total > 0 {
			f.held = slices.Grow(f.held, max(f.total-len(f.held), len(p)))
		}
		f.held = append(f.held, p...)
		if !f.isWhole(f.held) {
			return len(p), nil
		}
		out = f.held
	}
	_, err := f.Conn.Write(out)
	f.held = f.held[:0]
	if cap(f.held) > maxHeldBytes {
		f.held = nil
	}
	if err != nil {
		f.mu.Lock()
		f.writeErr = err
		f.mu.Unlock()
		_ = f.SetReadDeadline(time.Now().Add(afterBrokenWrite)) // no answer is no worse than none in time
	}
	return len(p), nil
}

// isWhole reports whether b has all of the request.
func (f *follower) isWhole(b []byte) bool {
	if f.total == 0 {
		i := bytes.Index(b, []byte("\r\n\r\n"))
		if i < 0 {
			return false
		}
		f.total = i + 4 + f.bodyBytes
	}
	return len(b) >= f.total
}

// Read reads and follows.
func (f *follower) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readErr = err
	if n == 0 {
		return 0, err
	}
	if f.idle {
		f.surplus, f.readErr = true, f.unasked(p[:n])
		return 0, f.readErr
	}
	f.stamp()
	f.parser.Feed(p[:n])
	for {
		switch f.parser.Next() {
		case http1.More:
			return n, err
		case http1.Head:
			f.headRead = f.newest
		case http1.Data:
			f.add(len(f.parser.Data()))
		case http1.End:
			f.idle = true
			rest := f.parser.Rest()
			f.surplus = rest > 0
			return max(0, n-rest), err
		case http1.Failed:
			return n, f.parser.Err()
		}
	}
}

// unasked returns what to say of bytes that came without a request. On a new
// connection they tell what the server speaks instead of HTTP/1.
func (f *follower) unasked(p []byte) error {
	if f.fresh {
		f.parser.Reset("")
		f.parser.Feed(p)
		if f.parser.Next() == http1.Failed {
			return f.parser.Err()
		}
	}
	return errUnasked
}

// stamp notes the stamp of the read that just returned.
func (f *follower) stamp() {
	f.newest = readOf(f.b.clock, f.raw.LastRead(), f.begun)
	if f.first.ns == 0 {
		f.first = f.newest.at
	}
}

// readOf returns the stamp and the number of a read: the first after begun has
// number 0. TLS may hold bytes of a read before; then it is now.
func readOf(clock *rxclock.Clock, st sockstamp.Stamp, begun uint64) span {
	if st.Ordinal <= begun {
		return span{at: nowOn(clock)}
	}
	return span{at: onClock(clock, st), read: uint32(st.Ordinal - begun - 1)}
}

// add notes that the read brought n more bytes of the body.
func (f *follower) add(n int) {
	f.body += int64(n)
	if last := len(f.spans) - 1; last >= f.past && f.spans[last].read == f.newest.read {
		f.spans[last].end = f.body
		return
	}
	if f.past == len(f.spans) {
		f.spans, f.past = f.spans[:0], 0
	}
	s := f.newest
	s.end = f.body
	f.spans = append(f.spans, s)
}

// at returns the span with the byte of the body at offset; offsets must not go
// back.
func (f *follower) at(offset int64) span {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; f.past < len(f.spans); f.past++ {
		if s := f.spans[f.past]; s.end > offset {
			return s
		}
	}
	s := f.newest // cannot be: net/http and the parser disagree
	s.end = endless
	return s
}

const endless = 1<<63 - 1

// head returns the stamp of the answer's first byte and the read that
// completed its head.
func (f *follower) head() (first stamp, whole span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first, f.headRead
}

// request returns when the request left: the write with its first byte, and
// its last byte. To be asked when the answer begins, and soon.
func (f *follower) request() (start, sent stamp) {
	first, last := f.raw.Request()
	return requestOnClock(f.b.clock, first, last)
}

// answered reports whether there was a byte of an answer.
func (f *follower) answered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first.ns != 0
}

// untaken reports whether the server's side took nothing of the request, or was
// closing the connection when it came.
func (f *follower) untaken(error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.b.closing(f.began) || untaken(f.raw, f.offset)
}

// usable reports whether the connection may carry another request, as far as
// its bytes say.
func (f *follower) usable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idle && !f.surplus && f.writeErr == nil
}

// cause returns why there is no complete answer, given what net/http says.
func (f *follower) cause(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch parseErr := f.parser.Err(); {
	case parseErr != nil:
		return parseErr
	case f.writeErr != nil && !errors.Is(f.writeErr, net.ErrClosed): // closed because of what was read
		return fmt.Errorf("while sending: %w", f.writeErr)
	case f.readErr == nil || f.idle:
		return withoutPrefix(err)
	case f.first.ns == 0 && f.surplus:
		return f.readErr
	case f.first.ns == 0:
		return &noAnswerError{f.readErr}
	case f.readErr == io.EOF: //nolint:errorlint // no Conn wraps it
		if f.parser.EOF() == http1.Failed {
			return f.parser.Err()
		}
		return err
	}
	return f.readErr
}

// withoutPrefix returns what net/http says is wrong with an answer without its
// words around it.
func withoutPrefix(err error) error {
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ") {
		return cause
	}
	return err
}
