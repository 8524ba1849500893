package kserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// An httpSender is the sender of one slot over HTTP, with one connection that
// is opened by the first request.
type httpSender struct {
	b         *Backend
	slot      int
	transport *http.Transport
	url       *url.URL
	err       error // of the URL
}

func newHTTPSender(b *Backend, slot int) *httpSender {
	s := &httpSender{b: b, slot: slot, transport: b.transport()}
	s.url, s.err = url.Parse(b.url(b.modelPath() + "/infer"))
	return s
}

// Close implements backend.Sender.
func (s *httpSender) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Send implements backend.Sender.
func (s *httpSender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	r := &x.Request
	r.IssuedNS = s.b.clock.NowNS()
	r.StartSource = export.SourceUser
	r.Conn = s.slot
	if s.err != nil {
		r.Status, r.Message = export.StatusProtocolError, s.err.Error()
		return
	}
	t := &httpTrace{clock: s.b.clock}
	resp, err := s.transport.RoundTrip(s.request(t.watch(ctx), p.(*payload), x))
	t.fill(r)
	if err != nil {
		fail(ctx, r, err, r.StartNS != 0)
		return
	}
	r.Code = resp.StatusCode
	body, err := readBody(resp)
	if err != nil {
		fail(ctx, r, err, true)
		return
	}
	r.Responses = append(r.Responses, export.Response{RecvNS: s.b.clock.NowNS(), Source: export.SourceUser})
	x.Raw = append(x.Raw, body)
	r.Status = export.StatusOK
	if resp.StatusCode != http.StatusOK {
		r.Status, r.Message = export.StatusHTTPError, errorText(resp.StatusCode, body)
		r.Responses[0].Error = true
	}
}

// request joins the head of this exchange, with id and parameters, and the
// prepared rest.
func (s *httpSender) request(ctx context.Context, p *payload, x *backend.Exchange) *http.Request {
	params := slices.Concat(s.b.cfg.Parameters, sequenceParams(x))
	head := (&wire.Request{
		ID:     strconv.FormatUint(x.Request.ID, 10),
		Params: append(params, wire.Param{Name: wire.ParamBinaryOutput, Value: true}),
	}).AppendHTTPHead(nil)
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
	req.Body, _ = body() // never fails
	s.b.addHeaders(req.Header)
	return req.WithContext(ctx)
}

func readBody(resp *http.Response) (body []byte, err error) {
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if n := resp.ContentLength; n >= 0 && n <= 64<<20 {
		body = make([]byte, n)
		_, err = io.ReadFull(resp.Body, body)
		return body, err
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, math.MaxInt32))
	if err == nil && len(body) == math.MaxInt32 {
		err = fmt.Errorf("the answer is longer than %d bytes", math.MaxInt32)
	}
	return body, err
}
