package kserve

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// HeaderLength is the HTTP header that gives the length of the JSON when
// binary tensors follow it in the body.
const HeaderLength = "Inference-Header-Content-Length"

// AppendHTTP appends the body of POST …/infer to b: JSON, then the data of the
// tensors that are Binary, in order. jsonBytes is the length of the JSON alone,
// the value of [HeaderLength]; the header is needed when there is more.
func (r *Request) AppendHTTP(b []byte) (body []byte, jsonBytes int) {
	start := len(b)
	b = r.AppendHTTPHead(b)
	b = append(b, `"inputs":`...)
	b = appendTensors(b, r.Inputs)
	if len(r.Outputs) > 0 {
		b = AppendHTTPOutputs(append(b, ','), r.Outputs)
	}
	b = append(b, '}')
	jsonBytes = len(b) - start
	return appendBinary(b, r.Inputs), jsonBytes
}

// AppendHTTPHead appends the start of the body: the opening brace, ID and Params, and a
// comma if these are not empty. A client that sends the same tensors many times keeps the
// rest of the body and puts a new head before it. The rest is the output of AppendHTTP for
// a request without ID and Params, from the second byte on.
func (r *Request) AppendHTTPHead(b []byte) []byte {
	b = append(b, '{')
	if r.ID != "" {
		b = append(appendMember(b, "id", r.ID), ',')
	}
	if len(r.Params) > 0 {
		b = append(appendParams(b, r.Params), ',')
	}
	return b
}

// AppendHTTP appends the body of an answer to b: {"error":…} alone when Error
// is set, else JSON and the data of the tensors that are Binary.
func (r *Response) AppendHTTP(b []byte) (body []byte, jsonBytes int) {
	start := len(b)
	b = append(b, '{')
	if r.Error != "" {
		b = append(appendMember(b, "error", r.Error), '}')
		return b, len(b) - start
	}
	for _, m := range [...]struct{ name, value string }{{"id", r.ID}, {"model_name", r.Model}, {"model_version", r.Version}} {
		if m.value != "" {
			b = append(appendMember(b, m.name, m.value), ',')
		}
	}
	if len(r.Params) > 0 {
		b = append(appendParams(b, r.Params), ',')
	}
	b = append(b, `"outputs":`...)
	b = append(appendTensors(b, r.Outputs), '}')
	jsonBytes = len(b) - start
	return appendBinary(b, r.Outputs), jsonBytes
}

// binary reports whether the tensor's data follows the JSON.
func (t *Tensor) binary() bool {
	return t.Shared == nil && (t.Binary || t.Datatype != BYTES && (t.Datatype.Size() == 0 || t.Datatype == FP16 || t.Datatype == BF16))
}

func appendTensors(b []byte, ts []Tensor) []byte {
	b = append(b, '[')
	for i := range ts {
		t := &ts[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(append(b, '{'), "name", t.Name)
		b = appendMember(append(b, ','), "datatype", string(t.Datatype))
		b = append(b, `,"shape":[`...)
		for i, d := range t.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, d, 10)
		}
		b = append(b, ']', ',')
		switch {
		case t.Shared != nil:
			b = appendParams(b, t.Shared.params())
		case t.binary():
			b = append(b, `"parameters":{"binary_data_size":`...)
			b = append(strconv.AppendInt(b, int64(len(t.Data)), 10), '}')
		default:
			b = append(b, `"data":`...)
			b = AppendJSON(b, t.Datatype, t.Data)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendBinary(b []byte, ts []Tensor) []byte {
	for i := range ts {
		if ts[i].binary() {
			b = append(b, ts[i].Data...)
		}
	}
	return b
}

func appendMember(b []byte, name, value string) []byte {
	b = appendString(b, []byte(name))
	return appendString(append(b, ':'), []byte(value))
}

func appendParams(b []byte, ps []Param) []byte {
	b = append(b, `"parameters":{`...)
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, []byte(p.Name)), ':')
		switch v := p.Value.(type) {
		case bool:
			b = strconv.AppendBool(b, v)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case uint64:
			b = strconv.AppendUint(b, v, 10)
		case float64:
			b = appendFloatText(b, v)
		case string:
			b = appendString(b, []byte(v))
		default:
			panic(fmt.Sprintf("kserve: parameter %q of type %T", p.Name, p.Value))
		}
	}
	return append(b, '}')
}

// ParseHTTP reads the body of POST …/infer. jsonBytes is the value of
// [HeaderLength], below 0 when there is none: then everything up to the end of
// the JSON object is JSON and what follows is binary. Binary data aliases body.
func (r *Request) ParseHTTP(body []byte, jsonBytes int) error {
	*r = Request{}
	return parseHTTP(body, jsonBytes, func(p *httpParser, key string) {
		switch key {
		case "id":
			r.ID = p.text()
		case "parameters":
			r.Params = p.params()
		case "inputs":
			r.Inputs = p.tensors(nil, "input")
		case "outputs":
			for ok := p.OpenArray(); ok; ok = p.NextElement() {
				r.Outputs = append(r.Outputs, p.requested())
			}
		default:
			p.Skip()
		}
	}, func() []Tensor { return r.Inputs })
}

// ParseHTTP reads the body of an answer; jsonBytes as for a request. It reads a body
// {"error":"…"} without an error and sets Error.
func (r *Response) ParseHTTP(body []byte, jsonBytes int) error {
	r.reset()
	return parseHTTP(body, jsonBytes, func(p *httpParser, key string) {
		switch key {
		case "id":
			r.ID = p.text()
		case "model_name":
			r.Model = p.text()
		case "model_version":
			r.Version = p.text()
		case "error":
			r.Error = p.text()
		case "parameters":
			r.Params = p.params()
		case "outputs":
			r.Outputs = p.tensors(r.Outputs, "output")
		default:
			p.Skip()
		}
	}, func() []Tensor { return r.Outputs })
}

// parseHTTP reads the JSON object, then divides the binary tail among the tensors that
// announced their size.
func parseHTTP(body []byte, jsonBytes int, member func(p *httpParser, key string), tensors func() []Tensor) error {
	p := &httpParser{Walker: jsonscan.Walker{Text: body, Words: true}}
	if jsonBytes >= 0 {
		if jsonBytes > len(body) {
			return fmt.Errorf("%s is %d but the body has %d bytes", HeaderLength, jsonBytes, len(body))
		}
		p.Text = body[:jsonBytes]
	}
	for ok := p.OpenObject(); ok; ok = p.NextMember() {
		member(p, string(p.Key))
	}
	tail := body[p.Pos:]
	if jsonBytes >= 0 {
		p.End()
		tail = body[jsonBytes:]
	}
	if p.Err != nil {
		return p.Err
	}
	ts, next := tensors(), 0
	for i := range ts {
		t := &ts[i]
		if !t.Binary {
			continue
		}
		size := p.sizes[next]
		next++
		if size > uint64(len(tail)) {
			return tensorError("tensor", t.Name, fmt.Errorf("%s is %d but %d bytes are left", paramBinarySize, size, len(tail)))
		}
		t.Data, tail = tail[:size:size], tail[size:]
	}
	if len(bytes.TrimSpace(tail)) > 0 {
		return fmt.Errorf("%d bytes after the last tensor", len(tail))
	}
	return nil
}

// httpParser reads the members of HTTP messages.
type httpParser struct {
	jsonscan.Walker
	sizes []uint64 // binary_data_size of each Binary tensor, in order
}

// text reads a string, or a number as its text: some servers number models.
func (p *httpParser) text() string {
	if p.Peek() == '"' {
		return string(p.String())
	}
	tok := p.Word()
	if !jsonscan.IsNumber(tok) {
		p.Fail("expected a string, found %s", clip(tok))
	}
	return string(tok)
}

// params reads an object of parameters. It leaves out null, arrays and objects.
func (p *httpParser) params() []Param {
	var ps []Param
	for ok := p.OpenObject(); ok; ok = p.NextMember() {
		if len(ps) == maxParams {
			p.Stop(errTooMany("parameters", maxParams))
		}
		key := string(p.Key)
		switch p.Peek() {
		case '{', '[':
			p.Skip()
			continue
		case '"':
			ps = append(ps, Param{key, string(p.String())})
			continue
		}
		tok := p.Word()
		if p.Err != nil {
			break
		}
		v, err := scalarParam(string(tok))
		if err != nil {
			p.Stop(fmt.Errorf("parameter %q: %w", clip(key), err))
		}
		if v != nil {
			ps = append(ps, Param{key, v})
		}
	}
	return ps
}

func scalarParam(tok string) (any, error) {
	switch tok {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "null":
		return nil, nil
	}
	if i, err := strconv.ParseInt(tok, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(tok, 10, 64); err == nil {
		return u, nil
	}
	f, err := parseFloat([]byte(tok))
	if err != nil {
		return nil, fmt.Errorf("%q is not a JSON value", clip(tok))
	}
	return f, nil
}

// tensors reads the array of inputs or outputs into ts[:0].
func (p *httpParser) tensors(ts []Tensor, what string) []Tensor {
	ts, p.sizes = ts[:0], p.sizes[:0]
	for ok := p.OpenArray(); ok; ok = p.NextElement() {
		if len(ts) == maxTensors {
			p.Stop(errTooMany("tensors", maxTensors))
			break
		}
		ts = grow(ts)
		t := &ts[len(ts)-1]
		if p.tensor(t); p.Err != nil {
			p.Err = tensorError(what, t.Name, p.Err)
		}
	}
	return ts
}

func (p *httpParser) tensor(t *Tensor) {
	var data []byte // read last: the datatype may stand behind it
	size, sized := uint64(0), false
	for ok := p.OpenObject(); ok; ok = p.NextMember() {
		switch string(p.Key) {
		case "name":
			t.Name = p.text()
		case "datatype":
			t.Datatype = Datatype(p.text())
		case "shape":
			p.shape(t)
		case "data":
			data = p.Value()
		case "parameters":
			ps := p.params()
			t.Shared = sharedOf(ps)
			for _, q := range ps {
				if n, ok := q.Value.(int64); ok && n >= 0 && q.Name == paramBinarySize {
					size, sized = uint64(n), true
				}
			}
		default:
			p.Skip()
		}
	}
	switch {
	case p.Err != nil:
	case sized:
		t.Binary = true
		p.sizes = append(p.sizes, size)
	case data != nil:
		if data[0] != '[' {
			p.Stop(errors.New("data: expected an array"))
			return
		}
		in, err := ParseInput(data, t.Datatype)
		if err != nil {
			p.Stop(fmt.Errorf("data: %w", err))
		}
		t.Data = in.Data
	}
}

func (p *httpParser) shape(t *Tensor) {
	t.Shape = t.Shape[:0]
	for ok := p.OpenArray(); ok; ok = p.NextElement() {
		tok := p.Word()
		if len(t.Shape) == maxRank {
			p.Stop(errTooMany("dimensions", maxRank))
			return
		}
		d, err := strconv.ParseInt(string(tok), 10, 64)
		p.Stop(err)
		t.Shape = append(t.Shape, d)
	}
}

func (p *httpParser) requested() (o RequestedOutput) {
	for ok := p.OpenObject(); ok; ok = p.NextMember() {
		switch string(p.Key) {
		case "name":
			o.Name = p.text()
		case "parameters":
			ps := p.params()
			o.Shared = sharedOf(ps)
			for _, q := range ps {
				if on, ok := q.Value.(bool); ok && q.Name == paramBinary {
					o.Binary = on
				}
			}
		default:
			p.Skip()
		}
	}
	return o
}
