package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// errNoHTTP2 says that HTTP/2 was asked for and cannot be had.
var errNoHTTP2 = errors.New("the server does not speak HTTP/2; ask for HTTP/1.1")

// http2On puts an HTTP/2 client on a connection. It has one stream at a time.
func (b *Backend) http2On(ctx context.Context, l *link) (*conn, error) {
	if b.target.secure && l.protocol != "h2" {
		return nil, errNoHTTP2
	}
	f := h2follow.New(l.nc, l.raw, h2follow.Config{Bytes: true, Streams: 4, Ended: 4})
	w := &streamWatch{f: f, raw: l.raw, clock: b.clock, nc: patientConn{Conn: f}}
	client, err := b.clientOn(ctx, &w.nc)
	if err != nil {
		return nil, err
	}
	return &conn{link: l, client: client, watch: w}, nil
}

// A patientConn does not fail to write, as a follower does not, so that what
// the server said before it closed the connection is read.
type patientConn struct {
	net.Conn
	mu       sync.Mutex
	writeErr error
}

func (c *patientConn) Write(p []byte) (int, error) {
	if _, err := c.Conn.Write(p); err != nil {
		c.mu.Lock()
		c.writeErr = err
		c.mu.Unlock()
		_ = c.SetReadDeadline(time.Now().Add(afterBrokenWrite)) // no answer is no worse than none in time
	}
	return len(p), nil
}

// broken returns why a write failed.
func (c *patientConn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeErr
}

// A streamWatch watches the newest stream of an HTTP/2 connection. What the
// client's goroutine that reads frames has read since does not count: the
// follower knows which bytes each read brought.
type streamWatch struct {
	f     *h2follow.Follower
	raw   *sockstamp.Conn
	clock *rxclock.Clock
	nc    patientConn // over f

	before uint32 // the newest stream before the request
	begun  uint64 // ordinal of the last read before it
	offset uint64 // of the first byte written since
}

var _ watcher = (*streamWatch)(nil)

func (w *streamWatch) begin(string, int) {
	w.before = w.f.Newest()
	w.f.Forget(w.before)
	w.begun, w.offset = w.raw.LastRead().Ordinal, w.raw.Written()
	w.raw.Begin()
}

// stream returns the request's stream; 0: there is none yet.
func (w *streamWatch) stream() uint32 {
	if id := w.f.Newest(); id != w.before {
		return id
	}
	return 0
}

// request takes the times of the request's own frames: the client also writes
// others. A request whose answer is here before it is written whole has the
// times of what was written.
func (w *streamWatch) request() (start, sent stamp) {
	first, last, ok := w.f.Sent(w.stream(), 0)
	if !ok {
		first, last = w.raw.Request()
		// The first write since begin may be of the request before, if that was
		// answered before it was written whole.
		if start, _, ok := w.f.SentInPart(w.stream(), 0); ok {
			first, last.NS = start, max(last.NS, start.NS)
		}
	}
	return requestOnClock(w.clock, first, last)
}

func (w *streamWatch) head() (first stamp, whole span) {
	begin, end, ok := w.f.Head(w.stream())
	if !ok {
		return stamp{}, span{}
	}
	return onClock(w.clock, begin), readOf(w.clock, end, w.begun)
}

func (w *streamWatch) at(offset int64) span {
	st, end, ok := w.f.At(w.stream(), uint64(offset))
	if !ok || end > math.MaxInt64 {
		st, end = w.raw.LastRead(), endless
	}
	s := readOf(w.clock, st, w.begun)
	s.end = int64(end)
	return s
}

func (w *streamWatch) answered() bool {
	_, _, ok := w.f.Head(w.stream())
	return ok
}

// untaken knows also what HTTP/2 has to say that a request was not looked at:
// a stream refused, or one that came after GOAWAY. Of the latter net/http has an
// error, but no name for it.
func (w *streamWatch) untaken(err error) bool {
	var reset http2.StreamError
	switch {
	case w.stream() == 0: // nothing of it was written
		return true
	case errors.As(err, &reset):
		return reset.Code == http2.ErrCodeRefusedStream
	case err != nil && strings.HasSuffix(err.Error(), "graceful shutdown GOAWAY"):
		return true
	}
	return untaken(w.raw, w.offset)
}

func (w *streamWatch) usable() bool { return w.nc.broken() == nil }

// cause tells the ends of a connection and of a stream from what is no HTTP/2.
func (w *streamWatch) cause(err error) error {
	var reset http2.StreamError
	var network *net.OpError
	switch {
	case w.f.Err() != nil:
		return errNoHTTP2
	case errors.As(err, &reset):
		return &resetError{fmt.Sprintf("the server reset the stream (%v)", reset.Code)}
	case w.nc.broken() != nil && !errors.Is(w.nc.broken(), net.ErrClosed): // closed because of what was read
		return fmt.Errorf("while sending: %w", w.nc.broken())
	case !w.answered() && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)):
		return &noAnswerError{err}
	}
	return err
}

// A resetError says in HTTP/2's terms that an answer was broken off.
type resetError struct{ why string }

func (e *resetError) Error() string { return e.why }
