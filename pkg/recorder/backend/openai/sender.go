package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

const (
	// afterDone is how long the end of an answer may take after [DONE] before
	// the connection is given up instead of being kept.
	afterDone = time.Second
	// afterBrokenWrite is how long to look for an answer, such as 413, after
	// the server refused to read the request.
	afterBrokenWrite = time.Second
	// maxErrorBytes bounds the body of an answer that is an error.
	maxErrorBytes = 64 << 10
)

// A sender sends one request at a time on its own connection.
type sender struct {
	b     *Backend
	conn  *conn // nil before the first request and after a broken one
	body  body
	split sse.Splitter
	arena arena
}

var _ backend.Sender = (*sender)(nil)

// Send performs one exchange. See the package comment for what the times mean
// and outcome.go for how failures are told apart.
func (s *sender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	r := &x.Request
	r.IssuedNS = s.b.clock.NowNS()
	if d := s.b.cfg.RequestTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	request := p.(*payload).request
	s.arena.begin()
	r.Responses, x.Raw = make([]export.Response, 0, s.arena.lastPieces), make([][]byte, 0, s.arena.lastPieces)
	if stale := s.attempt(ctx, request, x); stale {
		s.attempt(ctx, request, x)
	}
	s.arena.end()
}

// Close closes the connection.
func (s *sender) Close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.close()
	s.conn = nil
	return err
}

// attempt tries the exchange on the present connection or a new one. stale
// says that the connection had been closed before, so that nothing happened.
func (s *sender) attempt(ctx context.Context, request []byte, x *backend.Exchange) (stale bool) {
	r := &x.Request
	c, err := s.connect(ctx, r)
	if err != nil {
		s.fail(ctx, r, err)
		return false
	}
	keep := false
	stop := context.AfterFunc(ctx, c.interrupt)
	defer func() {
		if !stop() || !keep {
			_ = c.close() // the request has its status; this adds nothing
			s.conn = nil
		}
	}()

	writeErr := c.write(request)
	if writeErr != nil && ctx.Err() == nil {
		_ = c.nc.SetReadDeadline(time.Now().Add(afterBrokenWrite)) // no answer is no worse than none in time
	}
	resp, err := c.head()
	r.FirstByteNS = c.first.ns
	// Asked now, because the kernel's stamps of the writes are there by now.
	start, sent := c.raw.request()
	r.StartNS, r.StartSource, r.SentNS = start.ns, start.source, sent.ns
	if err != nil {
		if c.used && ctx.Err() == nil && isNoAnswer(err) {
			return true
		}
		if writeErr != nil {
			err = fmt.Errorf("while sending: %w", writeErr)
		}
		s.fail(ctx, r, err)
		return false
	}
	if c.used && resp.StatusCode == http.StatusRequestTimeout && resp.Close {
		return true // said before the request came, about the idle connection
	}
	c.used = true
	keep = s.answer(ctx, c, resp, x) && writeErr == nil
	return false
}

// connect returns the connection to use.
func (s *sender) connect(ctx context.Context, r *export.Request) (*conn, error) {
	// Bytes in the buffer are more than was asked for.
	if s.conn != nil && (s.conn.br.Buffered() > 0 || !alive(s.conn.raw.Conn, s.b.target.secure)) {
		_ = s.conn.close()
		s.conn = nil
	}
	if s.conn != nil {
		r.Reused, r.Conn = true, s.conn.id
		return s.conn, nil
	}
	c, err := dial(ctx, s.b.target, s.b.cfg.TLS, s.b.clock)
	if err != nil {
		return nil, err
	}
	c.id = int(s.b.conns.Add(1))
	s.conn = c
	r.Reused, r.Conn = false, c.id
	r.DNS, r.Connect, r.TLS = c.dns, c.connect, c.tls
	return c, nil
}

// answer reads the body and reports whether the connection can be kept.
func (s *sender) answer(ctx context.Context, c *conn, resp *http.Response, x *backend.Exchange) (keep bool) {
	r := &x.Request
	r.Status, r.Code = export.StatusOK, resp.StatusCode
	r.ServerID = openai.OneLine([]byte(s.b.secrets.Text(resp.Header.Get("X-Request-Id"))))
	s.body.reset(c.br, resp)
	var err error
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		err = s.readError(c, resp, x)
		if err != nil && ctx.Err() == nil {
			return false // it failed already
		}
	case isEventStream(resp):
		err = s.readEvents(c, x)
	default:
		err = s.readWhole(c, x, s.b.cfg.MaxBodyBytes)
	}
	if err != nil && !errors.Is(err, errAfterDone) {
		s.fail(ctx, r, err)
	}
	if enc := resp.Header.Get("Content-Encoding"); r.Status == export.StatusOK && enc != "" && !strings.EqualFold(enc, "identity") {
		r.Status = export.StatusProtocolError
		r.Message = fmt.Sprintf("the answer is compressed (%.20q) though that was not asked for", enc)
	}
	delimited := s.body.chunked || resp.ContentLength >= 0
	return err == nil && delimited && !resp.Close
}

// errAfterDone says that a body had said [DONE] but did not end as it should:
// a complete answer on a connection that cannot be kept.
var errAfterDone = errors.New("no end of the body after [DONE]")

// readEvents records every event of a stream.
func (s *sender) readEvents(c *conn, x *backend.Exchange) error {
	left := s.b.cfg.MaxBodyBytes
	s.split.Reset()
	s.split.MaxFrameBytes = int(left)
	done := false
	for {
		p, err := s.body.next()
		if err != nil {
			if rest := s.split.Rest(); len(bytes.TrimSpace(rest)) > 0 {
				done = done || isDone(rest)
				s.add(c, x, rest)
			}
			return eventsEnd(c, err, done)
		}
		if left -= int64(len(p)); left < 0 {
			return &tooLongError{s.b.cfg.MaxBodyBytes}
		}
		s.split.Feed(p)
		wasDone := done
		for s.split.Next() {
			f := s.split.Frame()
			done = done || isDone(f)
			s.add(c, x, f)
		}
		if done && !wasDone {
			if err := c.nc.SetReadDeadline(time.Now().Add(afterDone)); err != nil {
				return errAfterDone
			}
		}
	}
}

// eventsEnd judges the error that ended a stream.
func eventsEnd(c *conn, err error, done bool) error {
	switch {
	case !errors.Is(err, io.EOF) && !done:
		return err
	case !errors.Is(err, io.EOF), done && c.nc.SetReadDeadline(time.Time{}) != nil:
		return errAfterDone
	}
	return nil
}

// readWhole records a body as one response, stamped with its last byte.
func (s *sender) readWhole(c *conn, x *backend.Exchange, limit int64) error {
	var all []byte
	for {
		p, err := s.body.next()
		if err == nil && int64(len(all)+len(p)) > limit {
			err = &tooLongError{limit}
		}
		if err != nil {
			s.add(c, x, all)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if all == nil {
			const most = 1 << 20 // what a Content-Length is trusted with
			all = make([]byte, 0, max(int64(len(p)), min(int64(len(p))+s.body.left, most)))
		}
		all = append(all, p...)
	}
}

// readError records the body of an answer with a status that says no.
func (s *sender) readError(c *conn, resp *http.Response, x *backend.Exchange) error {
	err := s.readWhole(c, x, maxErrorBytes)
	r := &x.Request
	r.Status = export.StatusHTTPError
	// Hidden before it is cut, so that no part of a secret stays.
	msg := openai.ParseError(resp.StatusCode, resp.Header.Get("Content-Type"), []byte(s.b.secrets.Text(string(x.Raw[0]))))
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		msg = "redirected to " + withoutQuery(to) + "; give that URL instead"
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		msg += "; retry after " + openai.OneLine([]byte(after))
	}
	r.Message = s.b.secrets.Text(msg)
	r.Responses[0].Error = true
	return err
}

// add records one response with the stamp of the last read.
func (s *sender) add(c *conn, x *backend.Exchange, raw []byte) {
	at, read := c.raw.lastRead()
	r := &x.Request
	r.Responses = append(r.Responses, export.Response{RecvNS: at.ns, Source: at.source, Read: read})
	x.Raw = append(x.Raw, s.arena.keep(raw))
}

// fail sets status and message from an error, unless the request failed
// before.
func (s *sender) fail(ctx context.Context, r *export.Request, err error) {
	status, msg := classify(ctx, s.b.target, err)
	if r.Status == export.StatusHTTPError && status != export.StatusCancelled && status != export.StatusTimeout {
		return
	}
	r.Status, r.Message = status, s.b.secrets.Text(msg)
}

func isEventStream(resp *http.Response) bool {
	for _, v := range resp.Header.Values("Content-Type") {
		if strings.Contains(strings.ToLower(v), "text/event-stream") {
			return true
		}
	}
	return false
}

// isDone reports whether a frame is [DONE].
func isDone(frame []byte) bool {
	const longest = 128 // with an id or a name
	return len(frame) <= longest && bytes.Contains(frame, []byte("[DONE]")) &&
		string(bytes.TrimSpace(sse.Parse(frame).Data)) == "[DONE]"
}
