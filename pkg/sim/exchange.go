package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// An exchange is one inference request over HTTP and its answer.
type exchange struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	conn *timedConn // connection of the request
	// shared marks HTTP/2, where other requests may use conn, and WebSocket, where control frames do, so that its
	// times do not belong to the answer.
	shared  bool
	aborted bool
	// hijacked says that conn belongs to the exchange alone.
	hijacked bool
	stamp    bool // the tokens show their send time
	pace     pacer
	rec      *ledgerRecord
	index    uint64
	body     []byte
	engine   *engineStats // of the OpenAI API; nil for Triton's
	// prompts are the prompts that the prefix cache does not have yet.
	prompts []*cachedPrompt
	// unstamped holds the writes since the last collectStamps.
	unstamped []unstampedWrite
	// errorBody renders an error in the format of the API.
	errorBody func(code int, message string) []byte
}

// inference wraps the handler of an inference request: it counts the request,
// opens its ledger entry and reads its body.
func (s *Server) inference(p Protocol, errorBody func(int, string) []byte, serve func(*exchange)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.inFlight.add()
		defer s.inFlight.done()
		index := s.next.Add(1) - 1
		x := &exchange{
			s: s, w: w, r: r, index: index, rec: s.ledger.Begin(index, p, r.RemoteAddr), errorBody: errorBody,
			conn: connOf(r), shared: r.ProtoMajor > 1,
		}
		defer x.pace.stop()
		var err error
		x.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.MaxRequestBytes))
		// From here on net/http reads ahead: a client that sends its next request
		// early would cause a later stamp.
		var last sockstamp.Stamp
		if !x.shared {
			last = x.conn.stamped.Settled(x.conn.stamped.LastRead())
		}
		x.rec.Update(func(e *Entry) {
			e.RequestBytes = len(x.body)
			if err == nil && last.Source == sockstamp.Kernel {
				e.ReceivedKernelNS = last.NS
			}
		})
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			x.fail(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
		case err != nil:
			x.rec.End(s.endReason(), 0, "reading the body: "+err.Error())
		default:
			serve(x)
		}
		if x.aborted || x.rec.GaveUp() {
			// Without the panic net/http would end the body as if it were whole.
			panic(http.ErrAbortHandler)
		}
	}
}

// fail sends an error response.
func (x *exchange) fail(code int, message string) {
	x.rec.End(EndError, code, message)
	writeJSON(x.w, code, x.errorBody(code, message))
}

// strikeEarly performs a fault that precedes the answer. It reports whether f is such a
// fault.
func (x *exchange) strikeEarly(f plan.Fault) bool {
	switch f {
	case plan.FaultHTTP500:
		x.fail(http.StatusInternalServerError, "the fault http_500 was asked for")
	case plan.FaultHTTP429:
		x.w.Header().Set("Retry-After", "1")
		x.fail(http.StatusTooManyRequests, "the fault http_429 was asked for")
	case plan.FaultHang:
		<-x.r.Context().Done()
		x.rec.End(x.s.endReason(), 0, "")
	case plan.FaultNoReply, plan.FaultGarbageHeader:
		if x.shared {
			x.abort(0)
			break
		}
		conn, err := x.hijack()
		if err == nil && f == plan.FaultGarbageHeader {
			_, err = conn.Write([]byte("\x00\xff\xfe SSH-2.0-not HTTP\n\n"))
		}
		if err == nil {
			err = conn.Close()
		}
		x.rec.End(EndFault, 0, errorText(err))
	default:
		return false
	}
	return true
}

// begin waits for a slot. If it returns true, the caller must call s.release.
func (x *exchange) begin() bool {
	if x.engine != nil {
		x.engine.addWaiting(1)
	}
	err := x.s.acquire(x.r.Context())
	if x.engine != nil {
		x.engine.addWaiting(-1)
	}
	if err != nil {
		x.rec.End(x.s.endReason(), 0, "")
		return false
	}
	x.rec.Started()
	if x.engine != nil {
		x.engine.addRunning()
	}
	return true
}

// connKey is the key of a request's *timedConn in its context.
type connKey struct{}

func connOf(r *http.Request) *timedConn {
	return r.Context().Value(connKey{}).(*timedConn) // serveHTTP put it there
}

// answer sends a header with status 200, and then each chunk at its due time. length is the
// length of the body, -1 for a chunked one.
func (x *exchange) answer(contentType string, length int, p *plan.Plan, writes iter.Seq[plan.Chunk]) {
	x.w.Header().Set("Content-Type", contentType)
	if length >= 0 {
		x.w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	var out sink
	if p.Fault == plan.FaultSlowHeader && !x.shared {
		raw, err := x.newSlowHeaderSink()
		if err != nil {
			x.rec.End(x.s.endReason(), 0, err.Error())
			return
		}
		out = raw
	} else {
		out = &responseSink{x.w, http.NewResponseController(x.w), length >= 0}
	}
	x.rec.Finish = p.FinishReason(0)
	if length < 0 {
		x.rec.Expect(p.OutputTokens()/p.TokensPerEvent + 4) // roles, usage and [DONE] besides
	}
	x.send(out, p, writes)
}

// send sends a header with status 200 to out, and then each chunk at its due time.
func (x *exchange) send(out sink, p *plan.Plan, writes iter.Seq[plan.Chunk]) {
	x.stamp = p.Vocabulary == plan.Stamp
	if x.stamp && !x.shared {
		x.conn.fill = true
		defer func() { x.conn.fill = false }()
	}
	ctx := x.r.Context()
	defer x.fillCache(p, false)
	tokens := 0
	err := out.begin(http.StatusOK)
	for w := range writes {
		if err != nil {
			break
		}
		if err = x.pace.until(ctx, x.rec.Start.Add(w.At)); err != nil {
			break
		}
		if tokens += w.Tokens; tokens == p.OutputTokens() {
			x.fillCache(p, true)
		}
		if w.Data != nil {
			if err = x.writeChunk(out, w); err != nil {
				break
			}
		}
		if w.Then != plan.Continue {
			x.collectStamps()
			x.breakOff(w.Then)
			return
		}
	}
	x.collectStamps()
	switch {
	case err != nil:
		x.rec.End(x.s.endReason(), http.StatusOK, err.Error())
	case p.Fault == plan.FaultErrorEvent:
		x.rec.End(EndError, http.StatusOK, errorEventMessage)
	default:
		x.rec.End(EndOK, http.StatusOK, "")
	}
	out.end(err == nil)
}

// wholeWriteBytes is an amount that net/http always hands to the connection in one write,
// with the framing of a chunk: its buffer has 4 KB.
const wholeWriteBytes = 3 << 10

// writeChunk writes a chunk and records it in the ledger, before and after.
func (x *exchange) writeChunk(out sink, c plan.Chunk) error {
	if x.stamp && !x.shared && len(c.Data) > wholeWriteBytes {
		// net/http may split the chunk within a token, where Write cannot stamp it.
		plan.FillStamps(c.Data, uint64(time.Now().UnixNano()))
	}
	var began uint64
	if x.shared {
		began = uint64(time.Now().UnixNano())
		if x.stamp {
			plan.FillStamps(c.Data, began)
		}
	}
	number := x.rec.Sending(c)
	if err := out.write(c.Data); err != nil {
		x.rec.Unsent()
		return err
	}
	if !x.shared {
		began = x.conn.wroteNS
	}
	x.rec.Handed(number, began, c.Data, x.stamp)
	if x.engine != nil {
		x.engine.sent(x.rec, c.Tokens, began)
	}
	if x.s.config.KernelSends && !x.shared {
		x.unstamped = append(x.unstamped, unstampedWrite{number, x.conn.stamped.Written()})
		if len(x.unstamped) >= maxUnstamped {
			x.collectStamps()
		}
	}
	return nil
}

// An unstampedWrite is a write whose transmit stamp is not in the ledger yet.
type unstampedWrite struct {
	number int    // index in the entry
	end    uint64 // offset of its end on the connection
}

// maxUnstamped is the number of writes after which collectStamps runs. A connection keeps at
// least twice as many.
const maxUnstamped = 64

// collectStamps records when the kernel sent the unstamped writes.
func (x *exchange) collectStamps() {
	if len(x.unstamped) == 0 {
		return
	}
	x.conn.stamped.DrainTx()
	for _, w := range x.unstamped {
		if ns, ok := x.conn.stamped.TxStamp(w.end); ok {
			x.rec.Left(w.number, ns)
		}
	}
	x.unstamped = x.unstamped[:0]
}

// breakOff ends an answer in the middle.
func (x *exchange) breakOff(a plan.Action) {
	if a == plan.Stall {
		<-x.r.Context().Done()
		x.rec.End(x.s.endReason(), http.StatusOK, "")
		return
	}
	if x.shared && !x.hijacked {
		x.abort(http.StatusOK)
		return
	}
	conn, err := x.hijack()
	if err == nil {
		if a == plan.Reset {
			lingerZero(conn)
		}
		err = conn.Close()
	}
	x.rec.End(EndFault, http.StatusOK, errorText(err))
}

// abort ends an HTTP/2 answer in the middle, with RST_STREAM after the written bytes.
func (x *exchange) abort(code int) {
	x.rec.End(EndFault, code, "")
	x.aborted = true
}

// hijack takes the connection from the HTTP server.
func (x *exchange) hijack() (net.Conn, error) {
	if x.hijacked {
		return x.conn, nil
	}
	conn, _, err := http.NewResponseController(x.w).Hijack()
	x.hijacked = err == nil
	return conn, err
}

// A sink receives the bytes of an answer.
type sink interface {
	begin(status int) error // sends the header
	write(b []byte) error   // returns once the kernel has b
	end(whole bool)         // after the last write
}

// A responseSink answers through net/http. Each write is one HTTP chunk and one write to the
// kernel. As in servers, the header of a stream is sent at once, and the header of a whole
// answer with its body.
type responseSink struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	whole bool
}

func (o *responseSink) begin(status int) error {
	o.w.WriteHeader(status)
	if o.whole {
		return nil
	}
	return o.rc.Flush()
}

func (o *responseSink) write(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.rc.Flush()
}

func (o *responseSink) end(bool) {} // net/http ends the answer

// A rawSink answers on a hijacked connection and sends the header in pieces.
type rawSink struct {
	conn    net.Conn
	ctx     context.Context // ends with the request or the server
	header  http.Header
	chunked bool
	stop    func() bool
}

// headerPieceBytes and headerPause define the speed of FaultSlowHeader.
const (
	headerPieceBytes = 16
	headerPause      = 5 * time.Millisecond
)

func (x *exchange) newSlowHeaderSink() (*rawSink, error) {
	o := &rawSink{ctx: x.r.Context(), header: x.w.Header(), chunked: x.w.Header().Get("Content-Length") == ""}
	o.header.Set("Connection", "close")
	if o.chunked {
		o.header.Set("Transfer-Encoding", "chunked")
	}
	var err error
	if o.conn, err = x.hijack(); err != nil {
		return nil, err
	}
	o.stop = context.AfterFunc(o.ctx, func() { _ = o.conn.Close() })
	return o, nil
}

func (o *rawSink) begin(status int) error {
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for key, values := range o.header {
		for _, v := range values {
			b = fmt.Appendf(b, "%s: %s\r\n", key, v)
		}
	}
	b = append(b, "\r\n"...)
	for len(b) > 0 {
		n := min(len(b), headerPieceBytes)
		if _, err := o.conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		if err := sleepUntil(o.ctx, time.Now().Add(headerPause)); err != nil {
			return err
		}
	}
	return nil
}

func (o *rawSink) write(b []byte) error {
	if o.chunked {
		b = fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b)
	}
	_, err := o.conn.Write(b)
	return err
}

func (o *rawSink) end(whole bool) {
	if o.chunked && whole {
		_, _ = o.conn.Write([]byte("0\r\n\r\n")) // the client may be gone by now
	}
	if o.stop() {
		_ = o.conn.Close()
	}
}

// writeJSON sends a JSON answer.
func writeJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // fails only if the client is gone
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
