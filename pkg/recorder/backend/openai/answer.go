package openai

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// maxErrorBytes bounds the body of an answer that is an error.
const maxErrorBytes = 64 << 10

// An answer makes the rows of an exchange from the parts of the answer that a transport
// passes to it in order. It knows no network, no time and no context. A sender has one
// and reuses it:
//
//	begin(x)                 once for each request
//	head(resp, at, read)     when the head is there; not for interim answers
//	data(p, at, read)        body bytes without framing, read by read
//	end(err)                 once, also when there was no head
//
// at and read are the stamp and the number of the socket read that brought the
// bytes. Reads are numbered from 0 for each request, the head's included.
type answer struct {
	b     *Backend
	x     *backend.Exchange
	resp  *http.Response // nil before head
	kind  bodyKind
	split sse.Splitter
	arena arena
	whole []byte // a body that is no stream
	mem   backend.AnswerMemory
	left  int64 // bytes that the body of an error may still have
	over  error // why no more data is taken

	// sawDone is set when [DONE] came: the answer is complete, whatever
	// follows. A transport then waits for the body's end for afterDone only.
	sawDone bool

	// Of the last bytes that came.
	at   stamp
	read uint32
}

// A bodyKind says what becomes of a body.
type bodyKind uint8

const (
	bodyWhole  bodyKind = iota // one response
	bodyEvents                 // a response for each event
	bodyError                  // one response, and the message
)

// begin starts the exchange x. The transport fills in its times and its connection.
func (a *answer) begin(x *backend.Exchange) {
	a.x, a.resp = x, nil
	a.arena.begin()
	x.Request.Responses = make([]export.Response, 0, a.arena.lastPieces)
	x.Raw = make([][]byte, 0, a.arena.lastPieces)
}

// head takes the head of the answer; resp.Body stays unused. resp is kept until
// end.
func (a *answer) head(resp *http.Response, at stamp, read uint32) {
	r := &a.x.Request
	r.Status, r.Code = export.StatusOK, resp.StatusCode
	r.ServerID = openai.OneLine([]byte(a.b.secrets.Text(resp.Header.Get("X-Request-Id"))))
	a.resp, a.at, a.read = resp, at, read
	a.whole, a.over, a.sawDone = nil, nil, false
	a.mem.Begin(a.b.cfg.MaxAnswerMemory)
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		a.kind = bodyError
		a.left = maxErrorBytes
	case isEventStream(resp):
		a.kind = bodyEvents
		a.split.Reset()
		a.split.MaxFrameBytes = int(a.b.cfg.MaxAnswerMemory)
	default:
		a.kind = bodyWhole
	}
}

// discard forgets the head of an error and the data since, which were no answer to
// this request. a is then as after begin.
func (a *answer) discard() {
	r := &a.x.Request
	r.Status, r.Code, r.ServerID = export.StatusUnknown, 0, ""
	a.resp, a.whole, a.over = nil, nil, nil
}

// data takes the next bytes of the body, which are only used until it returns.
// The error says that the answer takes more memory than allowed; then end must
// follow, with that error or another.
func (a *answer) data(p []byte, at stamp, read uint32) error {
	if a.over != nil {
		return a.over
	}
	if a.kind == bodyError && int64(len(p)) > a.left {
		a.over = &tooLongError{maxErrorBytes}
		return a.over
	}
	a.left -= int64(len(p))
	if a.over = a.mem.Take(len(p)); a.over != nil {
		return a.over
	}
	if len(p) > 0 {
		a.at, a.read = at, read
	}
	if a.kind != bodyEvents {
		if a.whole == nil {
			const most = 1 << 20 // what a Content-Length is trusted with
			a.whole = make([]byte, 0, max(int64(len(p)), min(a.resp.ContentLength, most)))
		}
		a.whole = append(a.whole, p...)
		return nil
	}
	a.split.Feed(p)
	for a.over == nil && a.split.Next() {
		a.event(a.split.Frame())
	}
	return a.over
}

// end ends the exchange: err is nil or io.EOF after a complete body, else why
// there is none (before head it must be that), a givenUpError if the context was
// done. It sets the status and
// the message and reports whether, as far as the answer says, the connection
// may carry another request.
func (a *answer) end(err error) (keep bool) {
	defer a.finish()
	if err == io.EOF && a.resp != nil { //nolint:errorlint // wrapped, it is no end of a body
		err = nil
	}
	if a.over != nil && !isGivenUp(err) {
		err = a.over
	}
	if a.resp == nil {
		a.fail(err)
		return false
	}
	complete := err == nil
	switch a.kind {
	case bodyEvents:
		if rest := a.split.Rest(); a.over == nil && len(bytes.TrimSpace(rest)) > 0 {
			a.event(rest)
		}
		if a.sawDone && a.over == nil {
			err = nil // what the server still had to say is of no interest
		}
	case bodyError:
		a.addWhole()
		a.failed()
	default:
		a.addWhole()
	}
	if a.over != nil && a.kind != bodyError {
		a.x.Cut()
		if err == nil { // the rest of a stream was too much
			err = a.over
		}
	}
	if err != nil {
		a.fail(err)
	}
	r := &a.x.Request
	if enc := a.resp.Header.Get("Content-Encoding"); r.Status == export.StatusOK && enc != "" && !strings.EqualFold(enc, "identity") {
		r.Status = export.StatusProtocolError
		r.Message = fmt.Sprintf("the answer is compressed (%.20q) though that was not asked for", enc)
	}
	delimited := len(a.resp.TransferEncoding) > 0 || a.resp.ContentLength >= 0 || a.resp.ProtoMajor > 1
	return complete && delimited && !a.resp.Close && a.resp.StatusCode != http.StatusSwitchingProtocols
}

// finish drops the references to the exchange.
func (a *answer) finish() {
	a.arena.end()
	a.x, a.resp, a.whole = nil, nil, nil
}

// event records one event, or counts it.
func (a *answer) event(frame []byte) {
	a.sawDone = a.sawDone || isDone(frame)
	record, err := a.mem.Event(&a.x.Request, openai.IsEmptyFrame(frame))
	if a.over = err; record && err == nil {
		a.respond(a.arena.keep(frame))
	}
}

// addWhole records a body that is no stream.
func (a *answer) addWhole() {
	if a.whole == nil {
		a.whole = []byte{}
	}
	a.respond(a.whole)
}

// respond records one response with the stamp of the last data, and keeps raw.
func (a *answer) respond(raw []byte) {
	r := &a.x.Request
	r.Responses = append(r.Responses, export.Response{RecvNS: a.at.ns, Source: a.at.source, Read: a.read})
	a.x.Raw = append(a.x.Raw, raw)
	if a.x.Received != nil {
		a.x.Received(len(r.Responses))
	}
}

// failed sets status and message of an answer whose status says no.
func (a *answer) failed() {
	r := &a.x.Request
	r.Status = export.StatusHTTPError
	header := a.resp.Header
	// Hidden before it is cut, so that no part of a secret stays.
	msg := openai.ParseError(a.resp.StatusCode, header.Get("Content-Type"), []byte(a.b.secrets.Text(string(a.x.Raw[0]))))
	if to := header.Get("Location"); to != "" && a.resp.StatusCode < 400 {
		msg = "redirected to " + withoutQuery(to) + "; give that URL instead"
	}
	if after := header.Get("Retry-After"); after != "" {
		msg += "; retry after " + openai.OneLine([]byte(after))
	}
	r.Message = a.b.secrets.Text(msg)
	r.Responses[0].Error = true
}

// fail sets status and message from an error. What the server said about a
// failure of its own is worth more than that its message was cut.
func (a *answer) fail(err error) {
	r := &a.x.Request
	if r.Status == export.StatusHTTPError && !isGivenUp(err) {
		return
	}
	status, msg := classify(a.b.target, err)
	r.Status, r.Message = status, a.b.secrets.Text(msg)
}

func isEventStream(resp *http.Response) bool {
	return slices.ContainsFunc(resp.Header.Values("Content-Type"), func(v string) bool {
		return strings.Contains(strings.ToLower(v), "text/event-stream")
	})
}

// isDone reports whether a frame is [DONE].
func isDone(frame []byte) bool {
	const longest = 128 // with an id or a name
	return len(frame) <= longest && bytes.Contains(frame, []byte("[DONE]")) &&
		string(bytes.TrimSpace(sse.Parse(frame).Data)) == "[DONE]"
}
