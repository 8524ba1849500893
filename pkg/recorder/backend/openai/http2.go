package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/internal/sockstamp/h2follow"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// errNoHTTP2 is the error of Config.HTTP2 with a server that does not speak HTTP/2.
var errNoHTTP2 = errors.New("the server does not speak HTTP/2; ask for HTTP/1.1")

// http2On returns an HTTP/2 client on a connection. It has one stream at a time.
func (b *Backend) http2On(ctx context.Context, l *dialedConn, clock *rxclock.Clock) (*conn, error) {
	if b.target.secure && l.protocol != "h2" {
		return nil, errNoHTTP2
	}
	f := h2follow.New(l.nc, l.raw, h2follow.Config{Bytes: true, Streams: 4, Ended: 4})
	w := &streamWatch{f: f, raw: l.raw, clock: clock, nc: writeErrorHidingConn{Conn: f}}
	client, err := b.clientOn(ctx, &w.nc)
	if err != nil {
		return nil, err
	}
	return &conn{dialedConn: l, client: client, watch: w}, nil
}

// A writeErrorHidingConn reports every write as successful, so that an early answer
// (such as 413) is still read. broken returns the error of the write.
type writeErrorHidingConn struct {
	net.Conn
	mu       sync.Mutex
	writeErr error
}

func (c *writeErrorHidingConn) Write(p []byte) (int, error) {
	if _, err := c.Conn.Write(p); err != nil {
		c.mu.Lock()
		c.writeErr = err
		c.mu.Unlock()
		_ = c.SetReadDeadline(time.Now().Add(afterBrokenWrite)) // no answer is no worse than none in time
	}
	return len(p), nil
}

// broken returns the error of a failed write, or nil.
func (c *writeErrorHidingConn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeErr
}

// A streamWatch watches the newest stream of an HTTP/2 connection. It takes its times
// from the follower, which knows the bytes of each read, because the client's own
// goroutine may have read further meanwhile.
type streamWatch struct {
	f     *h2follow.Follower
	raw   *sockstamp.Conn
	clock *rxclock.Clock
	nc    writeErrorHidingConn // over f

	before uint32 // newest stream before the request
	begun  uint64 // ordinal of the last read before the request
	offset uint64 // offset of the first byte written since
}

var _ watcher = (*streamWatch)(nil)

func (w *streamWatch) begin(string, int) {
	w.before = w.f.Newest()
	w.f.Forget(w.before)
	w.begun, w.offset = w.raw.LastRead().Ordinal, w.raw.Written()
	w.raw.Begin()
}

// stream returns the number of the request's stream; 0 while there is none.
func (w *streamWatch) stream() uint32 {
	if id := w.f.Newest(); id != w.before {
		return id
	}
	return 0
}

// request returns the times of the request's own frames, because the client also
// writes other frames. A request that is answered before it is written whole has the
// times of the part that was written.
func (w *streamWatch) request() (start, sent stamp) {
	first, last, ok := w.f.Sent(w.stream(), 0)
	if !ok {
		first, last = w.raw.Request()
		// The first write since begin may belong to the previous request, if that was
		// answered before it was completely written.
		if start, _, ok := w.f.SentInPart(w.stream(), 0); ok {
			first, last.NS = start, max(last.NS, start.NS)
		}
	}
	return requestOnClock(w.clock, first, last)
}

func (w *streamWatch) head() (first, whole span) {
	begin, end, ok := w.f.Head(w.stream())
	if !ok {
		return span{}, span{}
	}
	return readOf(w.clock, begin, w.begun), readOf(w.clock, end, w.begun)
}

func (w *streamWatch) revised() []revision { return revisions(w.clock, w.raw, w.begun) }

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

// notDelivered also knows the ways in which HTTP/2 rejects a request unread: a refused
// stream, and a stream after GOAWAY. After GOAWAY net/http returns an error without a
// name.
func (w *streamWatch) notDelivered(err error) bool {
	var reset http2.StreamError
	switch {
	case w.stream() == 0: // nothing of it was written
		return true
	case errors.As(err, &reset):
		return reset.Code == http2.ErrCodeRefusedStream
	case isShutdown(err):
		return true
	}
	return notDelivered(w.raw, w.offset)
}

func (w *streamWatch) usable() bool { return w.nc.broken() == nil }

// isShutdown reports whether err is the error of net/http for a request after GOAWAY, which
// has no type.
func isShutdown(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "graceful shutdown GOAWAY")
}

// goAway matches the error of net/http for GOAWAY and the end of the connection, which has
// no exported type. Its group is the name of the error code.
var goAway = regexp.MustCompile(`server sent GOAWAY and closed the connection; LastStreamID=\d+, ErrCode=(\w+)`)

// cause distinguishes the end of a connection, the end of a stream and a server without
// HTTP/2.
func (w *streamWatch) cause(err error) error {
	var reset http2.StreamError
	var network *net.OpError
	switch {
	case w.f.Err() != nil && w.before == 0 && !w.answered():
		return errNoHTTP2
	case w.f.Err() != nil:
		return fmt.Errorf("the server broke the rules of HTTP/2: %w", w.f.Err())
	case errors.As(err, &reset):
		return &resetError{fmt.Sprintf("the server reset the stream (%v)", reset.Code)}
	case isShutdown(err):
		return &resetError{"the server closes the connection (GOAWAY) and did not take the request"}
	case goAway.MatchString(err.Error()):
		return &resetError{"the server closed the connection (GOAWAY, " + goAway.FindStringSubmatch(err.Error())[1] + ")"}
	case w.nc.broken() != nil && !errors.Is(w.nc.broken(), net.ErrClosed): // closed because of the bytes that were read
		return fmt.Errorf("while sending: %w", w.nc.broken())
	case !w.answered() && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)):
		return &noAnswerError{err}
	}
	return err
}

// A resetError reports that the server reset the stream of the answer.
type resetError struct{ why string }

func (e *resetError) Error() string { return e.why }
