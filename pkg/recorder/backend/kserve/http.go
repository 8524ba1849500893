package kserve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// An httpSender is the sender of one slot over HTTP, with one connection at a time.
type httpSender struct {
	b         *Backend
	clock     *rxclock.Clock
	transport *http.Transport
	url       *url.URL
	err       error          // of the URL
	warmed    export.Request // the request that opened the connection before the load
	outputs   *outputs       // in shared memory; nil: in the answers
	carried   int            // number of the last request's connection
}

func newHTTPSender(b *Backend, clock *rxclock.Clock, out *outputs) *httpSender {
	s := &httpSender{b: b, clock: clock, transport: b.transport(), outputs: out}
	s.url, s.err = url.Parse(b.url(b.modelPath() + "/infer"))
	return s
}

// warm opens the connection with a request for the server's health, because net/http opens
// no connection without a request.
func (s *httpSender) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.b.cfg.CheckTimeout)
	defer cancel()
	c, t := &httpControl{s.b, s.transport}, &httpTrace{clock: s.clock}
	_, _, err := c.ask(t.watch(ctx), http.MethodGet, "/v2/health/live")
	t.fill(&s.warmed)
	if err == nil {
		return nil
	}
	text := s.b.connectText(err)
	if text == "" {
		text = brokenText(err, false)
	}
	return &textError{text, err}
}

// Close implements backend.Sender.
func (s *httpSender) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Send implements backend.Sender.
func (s *httpSender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	r := &x.Request
	r.IssuedNS = s.clock.NowNS()
	r.StartSource = export.SourceUser
	if s.err != nil {
		r.Status, r.Message = export.StatusProtocolError, s.b.clipped(s.err.Error())
		return
	}
	if s.b.cfg.Reuse == backend.Fresh {
		// The library does not allow closing one idle connection so early.
		s.transport = s.b.transport()
		defer s.transport.CloseIdleConnections()
	}
	x.Sent = p
	t := &httpTrace{clock: s.clock}
	resp, err := s.transport.RoundTrip(s.request(t.watch(ctx), p.(*payload), x))
	t.fill(r)
	r.Reused = r.Conn != 0 && r.Conn == s.carried
	if !r.Reused && r.Conn == s.warmed.Conn {
		r.DNS, r.Connect, r.TLS = s.warmed.DNS, s.warmed.Connect, s.warmed.TLS
	}
	s.carried = r.Conn
	if err != nil {
		s.b.fail(ctx, r, err, r.StartNS != 0)
		return
	}
	r.Code = resp.StatusCode
	body, err := readBody(resp, s.b.cfg.MaxAnswerMemory)
	_, tooLong := errors.AsType[*backend.AnswerMemoryError](err)
	if err != nil && (!tooLong || resp.StatusCode == http.StatusOK) { // a refusal is one at any length
		s.b.fail(ctx, r, err, true)
		return
	}
	received, waited := t.received()
	if waited {
		x.Waited++
	}
	r.FirstByteNS = min(r.FirstByteNS, received.RecvNS) // the library reports it later than the kernel
	var damaged error
	if resp.StatusCode != http.StatusOK {
		body = backend.DecodedError(resp.Header, body)
	} else {
		body, x.Compressed, damaged = backend.Decompressed(resp.Header, body, s.b.cfg.MaxAnswerMemory)
		if s.outputs != nil && damaged == nil {
			body = s.outputs.http(body)
		}
	}
	x.RespondOwned(received, body)
	r.Status = export.StatusOK
	switch {
	case resp.StatusCode != http.StatusOK:
		msg := backend.RefusalMessage(s.b.errorText(resp.StatusCode, body), resp.StatusCode, resp.Header)
		r.Status, r.Message = export.StatusHTTPError, s.b.clipped(msg)
		r.Responses[0].Error = true
	case damaged != nil:
		r.Status, r.Message = export.StatusProtocolError, s.b.clipped(damaged.Error())
	}
}

// request joins the head of this exchange, with id and parameters, and the prepared rest.
func (s *httpSender) request(ctx context.Context, p *payload, x *backend.Exchange) *http.Request {
	params := slices.Concat(s.b.cfg.Parameters, sequenceParams(x))
	if s.outputs == nil && !s.b.cfg.JSONOutputs {
		params = append(params, wire.Param{Name: wire.ParamBinaryOutput, Value: true})
	}
	head := (&wire.Request{
		ID:     strconv.FormatUint(x.Request.ID, 10),
		Params: params,
	}).AppendHTTPHead(nil)
	if s.outputs != nil {
		head = append(wire.AppendHTTPOutputs(head, s.outputs.asked), ',')
	}
	body := func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(head), bytes.NewReader(p.msg))), nil
	}
	req := &http.Request{
		Method: http.MethodPost, URL: s.url, Host: s.url.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":    {"application/octet-stream"},
			wire.HeaderLength: {strconv.Itoa(len(head) + p.json)},
		},
		ContentLength: int64(len(head) + len(p.msg)),
		GetBody:       body,
	}
	req.Body, _ = body()      // never fails
	if p.json == len(p.msg) { // nothing follows the JSON
		req.Header = http.Header{"Content-Type": {"application/json"}}
	}
	s.b.addHeaders(req.Header)
	for name, value := range s.b.perRequest.All(x) {
		req.Header.Add(name, value)
	}
	return req.WithContext(ctx)
}

// trustedBytes is the largest Content-Length for which memory is reserved at once.
const trustedBytes = 4 << 20

// readBody reads a body of at most limit bytes. It returns the beginning of a longer one with
// an *backend.AnswerMemoryError, or nothing of it if its length was announced.
func readBody(resp *http.Response, limit int64) (body []byte, err error) {
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	n := resp.ContentLength
	if n > limit {
		return nil, &backend.AnswerMemoryError{LimitBytes: limit}
	}
	if 0 <= n && n <= trustedBytes {
		body = make([]byte, n)
		_, err = io.ReadFull(resp.Body, body)
		return body, err
	}
	var b bytes.Buffer
	b.Grow(int(min(max(n, bytes.MinRead), trustedBytes)))
	if _, err = b.ReadFrom(io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		// A copy, because the row keeps it.
		return bytes.Clone(b.Bytes()[:min(b.Len(), 4*maxMessage)]), &backend.AnswerMemoryError{LimitBytes: limit}
	}
	return b.Bytes(), nil
}
