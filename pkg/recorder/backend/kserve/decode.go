package kserve

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Decode implements backend.Backend. An HTTP answer that holds an error in spite of its
// status 200 becomes a protocol error, and so does an answer that differs from the
// validation data. Each response gets every output of the model in the order of its
// metadata, "" for an output that it lacks. The error is about the first response that
// cannot be read; the other responses are still filled in. Secrets of the configuration
// that a server repeats become stars, in the outputs and in their raw bytes.
func (b *Backend) Decode(x *backend.Exchange) error {
	var first error
	for i := range x.Request.Responses {
		if i >= len(x.Raw) {
			break
		}
		resp := &x.Request.Responses[i]
		if err := b.decode(resp, x.Raw[i]); err != nil && first == nil && !resp.Error {
			first = fmt.Errorf("response %d: %w", i, err)
		}
		if addsOutput(resp) {
			x.Tokens.Add(i)
		}
		b.validate(x, &b.decoded)
		if resp.Error && x.Request.Status == export.StatusOK {
			x.Request.Status, x.Request.Message = export.StatusProtocolError, b.clipped(b.decoded.Error)
		}
	}
	if first != nil {
		return b.hide(first) // decoding may have revealed a secret
	}
	return nil
}

// decode fills one response from its bytes.
func (b *Backend) decode(resp *export.Response, raw []byte) error {
	d := &b.decoded
	b.secrets.Mask(raw)
	var err error
	switch {
	case b.cfg.Protocol == HTTP:
		err = d.ParseHTTP(raw, -1)
	case b.cfg.Streaming:
		err = d.ParseStream(raw)
	default:
		err = d.ParseProto(raw)
	}
	if err != nil {
		*d = wire.Response{}
	}
	if final, ok := d.Final(); ok && final {
		resp.Final = true
	}
	if d.Error != "" {
		resp.Error = true
	}
	fields, ferr := d.Fields(b.outputs)
	resp.Outputs = fields
	for _, f := range fields {
		if f.Value.Text {
			b.secrets.Mask(f.Value.Data) // in raw JSON a secret may have escapes
		}
	}
	if err == nil {
		err = ferr
	}
	return err
}

// addsOutput reports whether a response has an output that is not empty. A final response
// may have only empty outputs.
func addsOutput(resp *export.Response) bool {
	for i := range resp.Outputs {
		if !resp.Outputs[i].Value.Empty() && !resp.Error {
			return true
		}
	}
	return false
}
