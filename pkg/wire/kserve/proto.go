package kserve

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of kserve.proto. Requests and responses share numbers
// one to five; outputs of a request are 6, and raw contents 7 there, 6 here.
const (
	fieldModel   = 1
	fieldVersion = 2
	fieldID      = 3
	fieldParams  = 4
	fieldTensors = 5 // inputs of a request, outputs of a response

	fieldRequestOutputs = 6
	fieldRequestRaw     = 7
	fieldResponseRaw    = 6

	fieldStreamError    = 1
	fieldStreamResponse = 2
)

// AppendProto appends the ModelInferRequest message to b, tensor data as
// raw_input_contents.
//
// Protobuf allows fields in any order, and the last value of a singular field counts. So
// [AppendID] and [AppendParam] can append to the result.
func (r *Request) AppendProto(b []byte) []byte {
	b = appendText(b, fieldModel, r.Model)
	b = appendText(b, fieldVersion, r.Version)
	b = AppendID(b, r.ID)
	for _, p := range r.Params {
		b = AppendParam(b, p)
	}
	for i := range r.Inputs {
		b = appendTensor(b, &r.Inputs[i])
	}
	for _, o := range r.Outputs {
		b = AppendProtoOutput(b, o)
	}
	for i := range r.Inputs {
		if r.Inputs[i].Shared == nil {
			b = appendMessage(b, fieldRequestRaw, r.Inputs[i].Data)
		}
	}
	return b
}

// AppendProto appends the ModelInferResponse message to b, tensor data as
// raw_output_contents. Error is not part of that message.
func (r *Response) AppendProto(b []byte) []byte {
	b = appendText(b, fieldModel, r.Model)
	b = appendText(b, fieldVersion, r.Version)
	b = AppendID(b, r.ID)
	for _, p := range r.Params {
		b = AppendParam(b, p)
	}
	for i := range r.Outputs {
		b = appendTensor(b, &r.Outputs[i])
	}
	for i := range r.Outputs {
		b = appendMessage(b, fieldResponseRaw, r.Outputs[i].Data)
	}
	return b
}

// AppendStream appends the ModelStreamInferResponse message to b.
func (r *Response) AppendStream(b []byte) []byte {
	b = appendText(b, fieldStreamError, r.Error)
	return appendMessage(b, fieldStreamResponse, r.AppendProto(nil))
}

// AppendID appends the field id to a request or response message; nothing for "".
func AppendID(b []byte, id string) []byte { return appendText(b, fieldID, id) }

// AppendParam appends one parameter to a request or response message. It panics for a value
// of a type that Param does not allow.
func AppendParam(b []byte, p Param) []byte {
	return appendMessage(b, fieldParams, paramEntry(p))
}

// paramEntry returns the map entry of a parameter.
func paramEntry(p Param) []byte {
	var v []byte
	switch x := p.Value.(type) {
	case bool:
		v = protowire.AppendTag(v, 1, protowire.VarintType)
		v = protowire.AppendVarint(v, protowire.EncodeBool(x))
	case int64:
		v = protowire.AppendTag(v, 2, protowire.VarintType)
		v = protowire.AppendVarint(v, uint64(x))
	case string:
		v = appendMessage(v, 3, []byte(x))
	case float64:
		v = protowire.AppendTag(v, 4, protowire.Fixed64Type)
		v = protowire.AppendFixed64(v, math.Float64bits(x))
	case uint64:
		v = protowire.AppendTag(v, 5, protowire.VarintType)
		v = protowire.AppendVarint(v, x)
	default:
		panic(fmt.Sprintf("kserve: parameter %q of type %T", p.Name, p.Value))
	}
	return appendMessage(appendText(nil, 1, p.Name), 2, v)
}

func appendTensor(b []byte, t *Tensor) []byte {
	m := appendText(nil, 1, t.Name)
	m = appendText(m, 2, string(t.Datatype))
	if len(t.Shape) > 0 {
		var dims []byte
		for _, d := range t.Shape {
			dims = protowire.AppendVarint(dims, uint64(d))
		}
		m = appendMessage(m, 3, dims)
	}
	if t.Shared != nil {
		m = t.Shared.appendProto(m, 4)
	}
	return appendMessage(b, fieldTensors, m)
}

func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func appendMessage(b []byte, num protowire.Number, m []byte) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendBytes(b, m)
}

// ParseProto reads a ModelInferRequest message, data as raw or as typed
// contents. Raw data aliases b.
func (r *Request) ParseProto(b []byte) error {
	m, err := parseMessage(message{}, b, fieldRequestRaw)
	if err != nil {
		return err
	}
	*r = Request{Model: m.model, Version: m.version, ID: m.id, Params: m.params, Inputs: m.tensors}
	return eachBytes(b, func(f field) error {
		if f.num != fieldRequestOutputs {
			return nil
		}
		var o RequestedOutput
		err := eachBytes(f.bytes, func(f field) error {
			if f.num == 1 {
				o.Name = string(f.bytes)
			}
			return nil
		})
		r.Outputs = append(r.Outputs, o)
		return err
	})
}

// ParseProto reads a ModelInferResponse message, data as raw or as typed
// contents.
func (r *Response) ParseProto(b []byte) error {
	r.reset()
	m, err := parseMessage(message{params: r.Params, tensors: r.Outputs}, b, fieldResponseRaw)
	if err != nil {
		return err
	}
	r.Model, r.Version, r.ID, r.Params, r.Outputs = m.model, m.version, m.id, m.params, m.tensors
	return nil
}

// ParseStream reads a ModelStreamInferResponse message.
func (r *Response) ParseStream(b []byte) error {
	var inner []byte
	var text string
	err := eachBytes(b, func(f field) error {
		switch f.num {
		case fieldStreamError:
			text = string(f.bytes)
		case fieldStreamResponse:
			inner = f.bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.ParseProto(inner); err != nil {
		return fmt.Errorf("infer_response: %w", err)
	}
	r.Error = text
	return nil
}

// message holds the common fields of requests and responses.
type message struct {
	model, version, id string
	params             []Param
	tensors            []Tensor
}

// parseMessage reads the common fields of b into m and reuses the capacity of its slices.
// raw is the field number of the raw contents, one for each tensor in order. They need a
// second pass, because protobuf does not promise that they come last.
func parseMessage(m message, b []byte, raw protowire.Number) (message, error) {
	raws := 0
	err := eachBytes(b, func(f field) (err error) {
		switch f.num {
		case fieldModel:
			m.model = string(f.bytes)
		case fieldVersion:
			m.version = string(f.bytes)
		case fieldID:
			m.id = string(f.bytes)
		case fieldParams:
			if len(m.params) == maxParams {
				return errTooMany("parameters", maxParams)
			}
			m.params, err = parseParam(m.params, f.bytes)
		case fieldTensors:
			if len(m.tensors) == maxTensors {
				return errTooMany("tensors", maxTensors)
			}
			m.tensors = grow(m.tensors)
			err = parseTensor(&m.tensors[len(m.tensors)-1], f.bytes)
		case raw:
			raws++
		}
		return err
	})
	if err != nil || raws == 0 {
		return m, err
	}
	if raws > len(m.tensors) {
		return m, fmt.Errorf("%d raw contents but %d tensors", raws, len(m.tensors))
	}
	i := 0
	return m, eachBytes(b, func(f field) error {
		if f.num == raw {
			m.tensors[i].Data = f.bytes
			i++
		}
		return nil
	})
}

// parseParam appends the map entry in b. It leaves out an entry without a known value, and
// overwrites an earlier entry of the same name.
func parseParam(ps []Param, b []byte) ([]Param, error) {
	var p Param
	err := eachBytes(b, func(f field) error {
		switch f.num {
		case 1:
			p.Name = paramName(f.bytes)
		case 2:
			return eachField(f.bytes, func(f field) error {
				switch {
				case f.num == 1 && f.typ == protowire.VarintType:
					p.Value = f.uint != 0
				case f.num == 2 && f.typ == protowire.VarintType:
					p.Value = int64(f.uint)
				case f.num == 3 && f.typ == protowire.BytesType:
					p.Value = string(f.bytes)
				case f.num == 4 && f.typ == protowire.Fixed64Type:
					p.Value = math.Float64frombits(f.uint)
				case f.num == 5 && f.typ == protowire.VarintType:
					p.Value = f.uint
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || p.Value == nil {
		return ps, err
	}
	for i := range ps {
		if ps[i].Name == p.Name {
			ps[i] = p
			return ps, nil
		}
	}
	return append(ps, p), nil
}

// paramName returns b as a string. It does not allocate for the one name that every response
// of a stream has.
func paramName(b []byte) string {
	if string(b) == ParamFinal {
		return ParamFinal
	}
	return string(b)
}

func parseTensor(t *Tensor, b []byte) error {
	var contents []byte
	err := eachField(b, func(f field) error {
		switch text := f.typ == protowire.BytesType; {
		case f.num == 1 && text:
			t.Name = string(f.bytes)
		case f.num == 2 && text:
			t.Datatype = datatypeOf(f.bytes)
		case f.num == 3:
			err := eachNumber(f, 0, func(v uint64) {
				if len(t.Shape) <= maxRank {
					t.Shape = append(t.Shape, int64(v))
				}
			})
			if len(t.Shape) > maxRank {
				return errTooMany("dimensions", maxRank)
			}
			return err
		case f.num == 5 && text:
			contents = f.bytes
		}
		return nil
	})
	if err == nil && len(contents) > 0 {
		t.Data, err = parseContents(t.Datatype, contents)
	}
	if err != nil {
		return tensorError("tensor", t.Name, err)
	}
	return nil
}

// datatypeOf returns b as a Datatype. It does not allocate for known names.
func datatypeOf(b []byte) Datatype {
	switch string(b) {
	case "BYTES":
		return BYTES
	case "INT32":
		return INT32
	case "FP32":
		return FP32
	case "BOOL":
		return BOOL
	}
	return Datatype(b)
}

// parseContents turns typed InferTensorContents into raw bytes.
func parseContents(dt Datatype, b []byte) (raw []byte, err error) {
	bits := 8 * dt.Size()
	err = eachField(b, func(f field) error {
		fixed := 0
		switch f.num {
		case 6: // fp32_contents
			fixed = 4
		case 7: // fp64_contents
			fixed = 8
		case 8: // bytes_contents
			if f.typ != protowire.BytesType {
				return nil
			}
			if dt != BYTES {
				return fmt.Errorf("bytes_contents in a tensor of type %q", clip(string(dt)))
			}
			raw = AppendBytes(raw, string(f.bytes))
			return nil
		}
		if f.num > 8 {
			return nil
		}
		if bits == 0 || dt == FP16 || dt == BF16 || fixed != 0 && fixed*8 != bits {
			return fmt.Errorf("contents of field %d in a tensor of type %q", f.num, clip(string(dt)))
		}
		return eachNumber(f, fixed, func(v uint64) { raw = appendUint(raw, v, bits) })
	})
	return raw, err
}

// A field is one decoded field of a message.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	bytes []byte // of BytesType; aliases the message
	uint  uint64 // of the other types
}

var errNotProto = errors.New("not a protobuf message")

// eachField calls f for each field of a message except groups.
func eachField(b []byte, f func(field) error) error {
	for rest := b; len(rest) > 0; {
		fd, n := consumeField(rest)
		if n < 0 {
			return fmt.Errorf("byte %d of %d: %w: %w", len(b)-len(rest), len(b), errNotProto, protowire.ParseError(n))
		}
		rest = rest[n:]
		if err := f(fd); err != nil {
			return err
		}
	}
	return nil
}

// eachBytes is eachField for the fields that are strings or messages. A field of another
// wire type is unknown to protobuf, with any number.
func eachBytes(b []byte, f func(field) error) error {
	return eachField(b, func(fd field) error {
		if fd.typ != protowire.BytesType {
			return nil
		}
		return f(fd)
	})
}

// consumeField decodes the field at the head of b; n < 0 is protowire's error.
func consumeField(b []byte) (f field, n int) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, n
	}
	f = field{num: num, typ: typ}
	v := b[n:]
	var m int
	switch typ {
	case protowire.VarintType:
		f.uint, m = protowire.ConsumeVarint(v)
	case protowire.Fixed32Type:
		var u uint32
		u, m = protowire.ConsumeFixed32(v)
		f.uint = uint64(u)
	case protowire.Fixed64Type:
		f.uint, m = protowire.ConsumeFixed64(v)
	case protowire.BytesType:
		f.bytes, m = protowire.ConsumeBytes(v)
	default:
		m = protowire.ConsumeFieldValue(num, typ, v)
	}
	if m < 0 {
		return field{}, m
	}
	return f, n + m
}

// eachNumber calls v for each number of a repeated field, packed or not; fixed
// is the width of its elements in bytes, 0 for varints. A field of another wire
// type is left out.
func eachNumber(f field, fixed int, v func(uint64)) error {
	if f.typ != protowire.BytesType {
		if f.typ == map[int]protowire.Type{0: protowire.VarintType, 4: protowire.Fixed32Type, 8: protowire.Fixed64Type}[fixed] {
			v(f.uint)
		}
		return nil
	}
	for b := f.bytes; len(b) > 0; {
		var u uint64
		var n int
		switch fixed {
		case 4:
			var w uint32
			w, n = protowire.ConsumeFixed32(b)
			u = uint64(w)
		case 8:
			u, n = protowire.ConsumeFixed64(b)
		default:
			u, n = protowire.ConsumeVarint(b)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w: %w", f.num, errNotProto, protowire.ParseError(n))
		}
		v(u)
		b = b[n:]
	}
	return nil
}
