package openai

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// An answer fills an exchange from the parts of the answer, which a transport passes to it
// in order. It knows no network, no clock and no context. A sender reuses its answer:
//
//	begin(x)                 once for each request
//	head(resp, at, read)     when the head is complete; not for interim answers
//	data(p, at, read)        body bytes without framing, read by read
//	revise(revisions, read)  once the last byte was read, if there was a head
//	end(err)                 once, also without a head
//
// at and read are the stamp and the number of the socket read that brought the bytes.
// Reads are numbered from 0 for each request, including the reads of the head.
type answer struct {
	b     *Backend
	x     *backend.Exchange
	resp  *http.Response // nil before head
	kind  bodyKind
	split sse.Splitter
	// whole is a body that is no stream, the bytes of an undecided body, or an unfinished line of a
	// body of lines.
	whole []byte
	// front is the part of an undecided body after its white space.
	front []byte
	// newline says that a body that may be lines had a line ending.
	newline bool
	// first is the stamp and the read of the first line of such a body.
	first struct {
		at   stamp
		read uint32
	}
	mem  backend.AnswerMemory
	left int64 // bytes that the body of an error may still have
	over error // the error after which no more data is accepted

	// audio describes the audio of an answer to Speech. spoken is what one read, or several parts of it, brought of raw audio, and
	// spokenAt its stamp; described has room for descriptions.
	audio             openai.AudioWriter
	spoken, described []byte
	spokenAt          struct {
		at   stamp
		read uint32
	}

	// packed decodes the body; nil unless it is compressed. opened says that the first bytes have shown
	// that; until then they are in held.
	packed *backend.Decompressor
	opened bool
	held   []byte

	// sawDone: [DONE], message_stop or response.completed came, so the answer is complete even if events follow. A transport
	// then waits for the end of the body for at most afterDone.
	sawDone bool

	// The stamp and the number of the last read.
	at   stamp
	read uint32
}

// A bodyKind says how a body becomes responses.
type bodyKind uint8

const (
	bodyUndecided bodyKind = iota // the first bytes decide
	bodyWhole                     // one response
	bodyJSON                      // one response, or a response for each line: the second line decides
	bodyLines                     // a response for each line, a JSON object
	bodyEvents                    // a response for each event
	bodyError                     // one response, and the message
	bodyAudio                     // a response for each read
)

// begin starts the exchange x. The transport sets its times and its connection.
func (a *answer) begin(x *backend.Exchange) {
	a.x, a.resp = x, nil
}

// head handles the head of the answer. It keeps resp until end and does not use resp.Body.
func (a *answer) head(resp *http.Response, at stamp, read uint32) {
	r := &a.x.Request
	r.Status, r.Code = export.StatusOK, resp.StatusCode
	r.ServerID = openai.OneLine([]byte(a.b.secrets.Text(resp.Header.Get("X-Request-Id"))))
	a.b.perRequest.Returned(a.x, resp.Header.Get)
	a.resp, a.at, a.read = resp, at, read
	a.whole, a.front, a.newline, a.over, a.sawDone = nil, nil, false, nil, false
	a.opened, a.held = false, nil
	a.mem.Begin(a.b.cfg.MaxAnswerMemory)
	a.kind = bodyUndecided
	if a.b.target.api == render.Speech {
		a.audio, a.spoken = openai.AudioWriter{Keep: a.b.cfg.KeepMedia}, a.spoken[:0]
		if isAudio(resp) {
			a.kind = bodyAudio
		}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		a.kind = bodyError
		a.left = backend.MaxErrorBytes
	}
}

// decide sets the kind of the body of an answer with status 2xx from its first bytes, and from the
// headers where the bytes are neither JSON nor events: a server need not stream what was asked for as
// a stream, and a proxy need not know the type of what it passes on. p are the next bytes. The body stays
// undecided as long as the bytes are too few.
func (a *answer) decide(p []byte) {
	if len(a.front) > 0 {
		p = append(a.front, p...)
	}
	switch form, undecided := openai.FormOf(p); {
	case undecided:
		a.front = bytes.Clone(openai.TrimFront(p))
	case form == openai.FormEvents, form == openai.FormOther && isEventStream(a.resp):
		a.kind = bodyEvents
		a.split.Reset()
		a.split.MaxFrameBytes = int(a.b.cfg.MaxAnswerMemory)
	case form == openai.FormJSON && a.b.target.ollama() && hasType(a.resp, "application/x-ndjson"):
		a.kind = bodyLines // the first line does not wait for the second
	case form == openai.FormJSON:
		a.kind = bodyJSON
	case a.b.target.api == render.Speech && !hasType(a.resp, "text/html"): // a page is a proxy's error
		a.kind = bodyAudio
	default:
		a.kind = bodyWhole
	}
}

// speak handles raw audio. All that one read brought is one response.
func (a *answer) speak(p []byte) {
	if len(a.spoken) > 0 && a.spokenAt.read != a.read {
		a.spoke()
	}
	a.spokenAt.at, a.spokenAt.read = a.at, a.read
	a.spoken = append(a.spoken, p...)
}

// spoke records what a read brought of raw audio.
func (a *answer) spoke() {
	if len(a.spoken) == 0 {
		return
	}
	at, read := a.at, a.read
	a.at, a.read = a.spokenAt.at, a.spokenAt.read
	a.described = a.audio.AppendRaw(a.described[:0], a.spoken)
	a.spoken = a.spoken[:0]
	a.event(a.described)
	a.at, a.read = at, read
}

// revise replaces the kernel's stamps of reads. firstRead is the number of the read that
// brought the first byte of the answer.
func (a *answer) revise(revisions []revision, firstRead uint32) {
	r := &a.x.Request
	for _, v := range revisions {
		if v.read == firstRead {
			r.FirstByteNS = v.at.ns
		}
		if v.read == a.read && a.at.source == export.SourceKernel {
			a.at = v.at // the responses that end adds take it
		}
		i, _ := slices.BinarySearchFunc(r.Responses, v.read, func(p export.Response, read uint32) int { return cmp.Compare(p.Read, read) })
		for ; i < len(r.Responses) && r.Responses[i].Read == v.read; i++ {
			if p := &r.Responses[i]; p.Source == export.SourceKernel {
				p.RecvNS, p.Source = v.at.ns, v.at.source
				a.x.Waited++
			}
		}
	}
}

// discard resets a to its state after begin. It drops the head and the data of an error
// that was no answer to this request.
func (a *answer) discard() {
	r := &a.x.Request
	r.Status, r.Code, r.ServerID = export.StatusUnknown, 0, ""
	a.x.Waited, a.x.Compressed = 0, false
	a.resp, a.whole, a.over = nil, nil, nil
	a.stopDecoding()
}

// data handles the next bytes of the body; p is not kept. It returns an error if the
// answer exceeds its memory. The caller must then call end, with this or another error.
func (a *answer) data(p []byte, at stamp, read uint32) error {
	if a.over != nil {
		return a.over
	}
	if a.kind == bodyError && int64(len(p)) > a.left {
		a.over = &tooLongError{backend.MaxErrorBytes}
		return a.over
	}
	a.left -= int64(len(p))
	if !a.dropsBytes() {
		if a.over = a.mem.Take(len(p)); a.over != nil {
			return a.over
		}
	}
	if len(p) > 0 {
		a.at, a.read = at, read
	}
	if !a.opened && a.kind != bodyError {
		if p = a.open(p); p == nil {
			return nil
		}
	}
	if a.packed == nil {
		a.body(p)
	} else if err := a.packed.Write(p); err != nil {
		a.over = err
	}
	return a.over
}

// dropsBytes reports whether the bytes of the body are counted and not kept.
func (a *answer) dropsBytes() bool {
	return a.b.target.api == render.Speech && !a.audio.Keep && (a.kind == bodyAudio || a.kind == bodyEvents)
}

// open decides from the headers and the first bytes of a body whether it is compressed. p are the next
// bytes. It returns the bytes so far; nil if they are too few.
func (a *answer) open(p []byte) []byte {
	if len(a.held) > 0 {
		p = append(a.held, p...)
	}
	compressed, undecided := backend.IsCompressed(a.resp.Header, p)
	if undecided {
		a.held = bytes.Clone(p)
		return nil
	}
	if a.held, a.opened = nil, true; !compressed {
		return p
	}
	a.x.Compressed = true
	a.packed = backend.NewDecompressor(a.resp.Header, p, func(decoded []byte) error {
		if a.over = a.mem.Take(len(decoded)); a.over == nil {
			a.body(decoded)
		}
		return a.over
	})
	return p
}

// stopDecoding frees what decodes the body.
func (a *answer) stopDecoding() {
	if a.packed != nil {
		a.packed.Stop()
		a.packed = nil
	}
}

// body handles the next bytes of the body, which are not compressed. p is not kept.
func (a *answer) body(p []byte) {
	if a.kind == bodyUndecided {
		a.decide(p)
	}
	switch a.kind {
	case bodyEvents:
		if len(a.whole) > 0 { // before it was decided
			p, a.whole = append(a.whole, p...), nil
		}
		a.split.Feed(p)
		for a.over == nil && a.split.Next() {
			a.event(a.split.Frame())
		}
	case bodyLines:
		a.lines(p)
	case bodyAudio:
		if len(a.whole) > 0 { // before it was decided
			a.speak(a.whole)
			a.whole = nil
		}
		a.speak(p)
	default:
		if a.whole == nil {
			const most = 1 << 20 // largest Content-Length for which memory is reserved
			a.whole = make([]byte, 0, max(int64(len(p)), min(a.resp.ContentLength, most)))
		}
		a.whole = append(a.whole, p...)
		if a.kind == bodyJSON && (a.newline || bytes.IndexByte(p, '\n') >= 0) {
			a.decideLines(p)
		}
	}
}

// decideLines finds out whether the body of JSON so far, which has a line ending, is one value or
// lines. p are its last bytes.
func (a *answer) decideLines(p []byte) {
	if a.newline && len(openai.TrimFront(p)) == 0 {
		return // a blank line is not the second one
	}
	if !a.newline {
		if bytes.IndexByte(openai.TrimFront(a.whole), '\n') < 0 {
			return // blank lines before the first one
		}
		a.newline, a.first.at, a.first.read = true, a.at, a.read
	}
	n, yes := openai.IsJSONLines(a.whole)
	switch {
	case n == 0:
	case !yes:
		a.kind = bodyWhole
	default:
		a.kind = bodyLines
		all, at, read := a.whole, a.at, a.read
		a.whole = nil
		a.at, a.read = a.first.at, a.first.read
		a.event(all[:n])
		a.at, a.read = at, read
		a.lines(all[n:])
	}
}

// lines records the lines that p completes.
func (a *answer) lines(p []byte) {
	for a.over == nil {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			a.whole = append(a.whole, p...)
			return
		}
		line := p[:n]
		if len(a.whole) > 0 {
			a.whole = append(a.whole, line...)
			line = a.whole
		}
		if len(bytes.TrimSpace(line)) > 0 {
			a.event(line)
		}
		a.whole, p = a.whole[:0], p[n:]
	}
}

// end ends the exchange and sets its status and message. err is nil or io.EOF after a
// complete body. Otherwise, and always before head, it is the error that prevented it: a
// givenUpError if the context was done. end reports whether the answer allows another
// request on the connection.
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
	if len(a.held) > 0 { // too short to be compressed
		a.body(a.held)
	}
	if a.packed != nil && complete && a.over == nil {
		err = a.packed.Close()
	}
	if a.kind == bodyUndecided && isEventStream(a.resp) {
		a.kind = bodyLines // what came is the beginning of a line
	}
	switch a.kind {
	case bodyLines:
		if a.over == nil && len(bytes.TrimSpace(a.whole)) > 0 {
			a.event(a.whole)
		}
	case bodyEvents:
		if rest := a.split.Rest(); a.over == nil && len(bytes.TrimSpace(rest)) > 0 {
			a.event(rest)
		}
	case bodyAudio:
		a.spokenAt.at = a.at // the last read may have got another stamp
		if a.over == nil {
			a.spoke()
		}
		if len(a.x.Request.Responses) == 0 {
			a.addWhole()
		}
	case bodyError:
		a.whole = backend.DecodedError(a.resp.Header, a.whole)
		a.addWhole()
		a.failed()
	default:
		a.addWhole()
	}
	if a.sawDone && a.over == nil {
		err = nil // the bytes after the end do not matter
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
	delimited := len(a.resp.TransferEncoding) > 0 || a.resp.ContentLength >= 0 || a.resp.ProtoMajor > 1
	return complete && delimited && !a.resp.Close && a.resp.StatusCode != http.StatusSwitchingProtocols
}

// finish drops the references to the exchange.
func (a *answer) finish() {
	a.stopDecoding()
	a.x, a.resp, a.whole = nil, nil, nil
}

// event records an event or a line, or only counts it.
func (a *answer) event(frame []byte) {
	a.sawDone = a.sawDone || isDone(frame) ||
		a.b.target.api == render.Messages && openai.IsMessageStop(frame) ||
		a.b.target.api == render.Responses && openai.IsResponsesEnd(frame)
	if a.b.target.api == render.Speech && a.kind == bodyEvents {
		if b, ok := a.audio.AppendEvent(a.described[:0], frame); ok {
			a.described, frame = b, b
		}
	}
	record, err := a.mem.Event(&a.x.Request, openai.IsEmptyFrame(frame))
	if a.over = err; record && err == nil {
		a.x.Respond(a.response(), frame)
	}
}

// addWhole records a body that is no stream.
func (a *answer) addWhole() {
	if a.whole == nil {
		a.whole = []byte{}
	}
	a.x.RespondOwned(a.response(), a.whole)
}

// response returns a response with the stamp of the last data.
func (a *answer) response() export.Response {
	if a.at.waited {
		a.x.Waited++
	}
	return export.Response{RecvNS: a.at.ns, Source: a.at.source, Read: a.read}
}

// failed sets status and message of an answer with an error status.
func (a *answer) failed() {
	r := &a.x.Request
	r.Status = export.StatusHTTPError
	if openai.IsContextOverflow(a.resp.StatusCode, a.whole) {
		r.Status = export.StatusContextOverflow
	}
	header := a.resp.Header
	// Secrets are hidden before the text is cut, so that no part of one stays.
	msg := openai.ParseError(a.resp.StatusCode, header.Get("Content-Type"), []byte(a.b.secrets.Text(string(a.whole))))
	r.Message = a.b.secrets.Text(backend.RefusalMessage(msg, a.resp.StatusCode, header))
	r.Responses[0].Error = true
}

// refused reports whether a status belongs to an answer with an HTTP status other than 2xx. An answer with 2xx can have the
// status of a context overflow only once it is decoded.
func refused(s export.Status) bool {
	return s == export.StatusHTTPError || s == export.StatusContextOverflow
}

// fail sets status and message from err. It keeps the server's own error message, even if
// that was cut.
func (a *answer) fail(err error) {
	r := &a.x.Request
	if refused(r.Status) && !isGivenUp(err) {
		return
	}
	status, msg := classify(a.b.target, err)
	r.Status, r.Message = status, a.b.secrets.Text(msg)
}

func isEventStream(resp *http.Response) bool { return hasType(resp, "text/event-stream") }

// hasType reports whether the headers of an answer name a type of content.
func hasType(resp *http.Response, name string) bool {
	return slices.ContainsFunc(resp.Header.Values("Content-Type"), func(v string) bool {
		return strings.Contains(strings.ToLower(v), name)
	})
}

// isAudio reports whether the type of an answer is audio, or bytes of no known type.
func isAudio(resp *http.Response) bool {
	kind := strings.ToLower(resp.Header.Get("Content-Type"))
	return strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "application/octet-stream")
}

// isDone reports whether a frame is [DONE].
func isDone(frame []byte) bool {
	const longest = 128 // with an id or a name
	return len(frame) <= longest && bytes.Contains(frame, []byte("[DONE]")) &&
		(string(bytes.TrimSpace(sse.Parse(frame).Data)) == "[DONE]" || openai.IsBareDone(frame))
}
