package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// A Header is sent with every request. Its value may be a key, so no verb prints it. The places of backend.ParsePlaces in a
// value stand for figures of the request.
type Header struct {
	Name, Value string
}

// Format prints the name for every verb.
func (h Header) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprint(f, h.Name, ": [redacted]")
}

// MarshalText returns the name, for JSON.
func (h Header) MarshalText() ([]byte, error) {
	return []byte(h.Name + ": [redacted]"), nil
}

// useHeaders takes the headers of the configuration. The error names all mistakes in them.
func (b *Backend) useHeaders() error {
	h := &b.perRequest
	h.Seed, h.Return = b.cfg.RequestIDSeed, b.cfg.ReturnHeader
	var errs []error
	for _, header := range b.cfg.Headers {
		errs = append(errs, header.validate())
		switch placed, err := h.Add(header.Name, header.Value); {
		case err != nil:
			errs = append(errs, err)
		case !placed:
			b.fixed = append(b.fixed, header)
			b.secrets.AddHeader(header.Name, header.Value)
		case slices.Contains([]string{"host", "user-agent", "accept", "content-type"}, strings.ToLower(header.Name)):
			errs = append(errs, fmt.Errorf("header %s: expected one value for all requests; drop {{…}}", header.Name))
		}
		if b.target != nil && b.target.api == render.Transcription && strings.EqualFold(header.Name, "content-type") {
			errs = append(errs, fmt.Errorf("header %s: pa-record sets it for the form data; drop it", header.Name))
		}
		if h.Return != "" && strings.EqualFold(header.Name, h.Return) {
			errs = append(errs, fmt.Errorf("header %s is both set and returned; drop one", header.Name))
		}
	}
	for name, text := range h.Literals() {
		b.secrets.AddHeader(name, text)
	}
	if h.Return != "" {
		errs = append(errs, Header{Name: h.Return}.validate())
	}
	return errors.Join(errs...)
}

// withHeaders returns p with the headers that x has of its own.
func (b *Backend) withHeaders(p *payload, x *backend.Exchange) *payload {
	if b.perRequest.None() || p.body == nil {
		return p
	}
	own := *p
	head := len(p.request) - len(p.body) - len("\r\n")
	own.request = append(make([]byte, 0, len(p.request)+256), p.request[:head]...)
	for name, value := range b.perRequest.All(x) {
		own.request = append(own.request, name+": "+value+"\r\n"...)
		own.own = append(own.own, Header{name, value})
	}
	own.request = append(own.request, p.request[head:]...)
	own.body = own.request[len(own.request)-len(p.body):]
	return &own
}

// validate returns an error if the header would break the framing of a request.
func (h Header) validate() error {
	if err := backend.CheckHeaderName(h.Name); err != nil {
		return err
	}
	for i := range len(h.Value) {
		if c := h.Value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("header %s: its value holds a control character (%q)", h.Name, c)
		}
	}
	switch strings.ToLower(h.Name) {
	case "content-length", "transfer-encoding", "trailer", "expect", "upgrade":
		return fmt.Errorf("header %s cannot be set; it follows from the request", h.Name)
	case "accept-encoding":
		return fmt.Errorf("header %s cannot be set; a compressed answer would hide when its tokens came", h.Name)
	}
	return nil
}
