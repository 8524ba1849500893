package openai

import (
	"context"
	"net"
	"net/http"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// An Upgrade is a stamped connection for a protocol that begins with a request of HTTP/1.1 and goes on without
// HTTP, as WebSocket does, and that request.
type Upgrade struct {
	net.Conn                 // the socket, or TLS over it
	Raw      *sockstamp.Conn // the socket
	URL      string          // of the request; it begins with http:// also above TLS
	Host     string          // value of the Host header
	Header   http.Header     // the other headers
	b        *Backend
}

// Upgrade connects to the server, through the proxy if there is one, for the request of x, and sets the times of
// connecting in x. [Backend.Failed] words its error.
func (b *Backend) Upgrade(ctx context.Context, x *backend.Exchange) (*Upgrade, error) {
	l, err := b.dial(ctx, "http/1.1")
	if err != nil {
		return nil, err
	}
	r := &x.Request
	r.DNS, r.Connect, r.TLS, r.Conn = l.dns, l.connect, l.tls, int(b.conns.Add(1))
	u := &Upgrade{Conn: l.nc, Raw: l.raw, URL: "http://" + b.target.host + b.target.uri, Host: b.host, Header: b.header.Clone(), b: b}
	for name, value := range b.perRequest.All(x) {
		u.Header.Add(name, value)
	}
	return u, nil
}

// Refused records an answer that is no upgrade in x: the status, the message and a response. body may be cut.
func (u *Upgrade) Refused(x *backend.Exchange, clock *rxclock.Clock, resp *http.Response, body []byte) {
	at := onClock(clock, u.Raw.LastRead())
	x.RespondOwned(export.Response{RecvNS: at.ns, Source: at.source}, body)
	x.Request.Code = resp.StatusCode
	(&answer{b: u.b, x: x, resp: resp, whole: body}).failed()
}

// WithoutSecrets returns a text of the server without the credentials that it repeats.
func (u *Upgrade) WithoutSecrets(text string) string { return u.b.secrets.Text(text) }

// Failed sets the status and the message of r, whose exchange ended with err.
func (b *Backend) Failed(ctx context.Context, r *export.Request, err error) {
	status, msg := classify(b.target, giveUp(ctx, err))
	r.Status, r.Message = status, b.secrets.Text(msg)
}
