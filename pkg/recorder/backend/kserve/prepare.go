package kserve

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A payload is a prepared request without its id.
type payload struct {
	inputs export.Fields
	// msg is the ModelInferRequest for gRPC; for HTTP it is the body without its head,
	// and json is the number of its JSON bytes.
	msg  []byte
	json int

	expected []expectation // of the answer

	streamed bool // the request asks for a streamed answer
}

// Streamed implements backend.Streamer. A request on a gRPC stream asks for a streamed
// answer unless its input "stream" is false.
func (p *payload) Streamed() bool { return p.streamed }

// Inputs implements backend.Payload.
func (p *payload) Inputs() export.Fields { return p.inputs }

// ShareWith makes p use the bytes of other, a payload of another Backend, where they are
// equal, so that requests to several servers hold equal bytes once.
func (p *payload) ShareWith(other backend.Payload) {
	if o, ok := other.(*payload); ok && o.json == p.json && bytes.Equal(o.msg, p.msg) {
		p.msg, p.inputs = o.msg, o.inputs
	}
}

// Prepare implements backend.Backend. With a batch size b > 1 the entry becomes all b
// elements of the batch; the export shows it once, as perf_analyzer does.
//
// Inputs are sent and exported in the order of the model's metadata. An optional input
// without a value is left out, unless the entry has no values at all and asks for
// generated data: then every input gets generated data.
func (b *Backend) Prepare(e *workload.Entry) (backend.Payload, error) {
	es := make([]*workload.Entry, b.batch)
	for i := range es {
		es[i] = e
	}
	return b.PrepareBatch(es)
}

// PrepareBatch implements backend.Batcher: each of the BatchSize elements of the batch has
// its own entry, as perf_analyzer fills batches with consecutive steps of its input data.
// The entries must have the same optional inputs and shapes; the first one is exported.
func (b *Backend) PrepareBatch(es []*workload.Entry) (backend.Payload, error) {
	if int64(len(es)) != b.batch {
		return nil, fmt.Errorf("expected %d entries for a batch, found %d", b.batch, len(es))
	}
	es, err := b.tensors(es)
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		if err := b.unknown(e); err != nil {
			return nil, entryError(e, err)
		}
	}
	p := &payload{inputs: export.Fields{}}
	if p.expected, err = b.expectations(es); err != nil {
		return nil, err
	}
	left := int64(maxRequestBytes)
	req := wire.Request{Model: b.cfg.Model, Version: b.cfg.Version}
	for i := range b.model.Inputs {
		spec := &b.model.Inputs[i]
		t, first, err := b.tensor(spec, es, left)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		left -= int64(len(t.Data))
		v, err := wire.Value(spec.Datatype, first)
		if err != nil {
			return nil, entryError(es[0], fmt.Errorf("input %q: %w", spec.Name, err))
		}
		if t.Binary = !b.cfg.JSONInputs; !t.Binary {
			if err := wire.CheckJSON(spec.Datatype, t.Data); err != nil {
				return nil, entryError(es[0], fmt.Errorf("input %q: %w; use --input-tensor-format binary", spec.Name, err))
			}
		}
		if b.shared != nil {
			if t.Shared, err = b.shared.put(t.Data); err != nil {
				return nil, err
			}
			t.Data = nil
		}
		req.Inputs = append(req.Inputs, *t)
		p.inputs = append(p.inputs, export.Field{Name: spec.Name, Value: v})
	}
	asks, stated := p.inputs.StreamFlag()
	p.streamed = b.cfg.Streaming && (asks || !stated)
	if b.cfg.Protocol == HTTP {
		body, jsonBytes := req.AppendHTTP(nil)
		p.msg, p.json = body[1:], jsonBytes-1 // without the brace of the head
		return p, nil
	}
	req.Params = b.cfg.Parameters
	if b.cfg.Streaming {
		req.Params = append(req.Params[:len(req.Params):len(req.Params)], wire.Param{Name: wire.ParamEmptyFinal, Value: true})
	}
	p.msg = req.AppendProto(nil)
	return p, nil
}

// tensors returns the entries with their prompts as inputs of the model.
func (b *Backend) tensors(es []*workload.Entry) ([]*workload.Entry, error) {
	out := make([]*workload.Entry, len(es))
	for i, e := range es {
		if out[i] = e; e.Prompt == nil {
			continue
		}
		o := b.cfg.Render
		o.Stream, o.Model = b.cfg.Streaming, b.cfg.Model
		var err error
		style := b.cfg.Style
		if style == 0 && o.Template == nil {
			if style, err = render.StyleOf(names(b.model.Inputs)); err != nil {
				return nil, entryError(e, err)
			}
		}
		o.Has = func(name string) bool { return b.model.input(name) != nil }
		made := *e
		if made.Values, err = render.Tensors(style, e.Prompt, o); err != nil {
			return nil, entryError(e, err)
		}
		out[i] = &made
	}
	return out, nil
}

// unknown returns an error for a value that is no input of the model. Like perf_analyzer it
// ignores "model", and also the fields of sessions and schedules.
func (b *Backend) unknown(e *workload.Entry) error {
	for _, f := range e.Values {
		switch f.Name {
		case "model", "session_id", "delay", "timestamp":
			continue
		}
		if b.model.input(f.Name) == nil {
			return fmt.Errorf("model %s has no input %q; it has %s", b.model.Name, clip(f.Name), joinNames(b.model.Inputs))
		}
	}
	for name := range e.Raw {
		if b.model.input(name) == nil && b.model.output(name) == nil {
			return fmt.Errorf("the file %q is named like neither an input nor an output of model %s; inputs are %s, outputs %s", clip(name), b.model.Name, joinNames(b.model.Inputs), joinNames(b.model.Outputs))
		}
	}
	return nil
}

func entryError(e *workload.Entry, err error) error {
	return fmt.Errorf("%s: %w", e.Place(), err)
}

// maxRequestBytes bounds the data of a request. Shapes come from the server and must not
// use up the memory.
const maxRequestBytes = 1 << 30

var errRequestTooLarge = fmt.Errorf("the request would hold more than %d bytes of data", maxRequestBytes)

// tensor returns the input of a batch, of at most left bytes, and the data of its first
// element; nil for an input that is left out.
func (b *Backend) tensor(spec *tensorSpec, es []*workload.Entry, left int64) (t *wire.Tensor, first []byte, err error) {
	for i, e := range es {
		shape, data, err := b.element(spec, e, left/b.batch)
		if err != nil {
			return nil, nil, entryError(e, fmt.Errorf("input %q: %w", spec.Name, err))
		}
		switch {
		case i == 0 && data == nil:
		case i == 0:
			first = data
			t = &wire.Tensor{Name: spec.Name, Datatype: spec.Datatype, Shape: shape, Data: data, Binary: true}
			if b.batch > 1 {
				t.Data = append(make([]byte, 0, len(data)*len(es)), data...)
			}
		case (t == nil) != (data == nil):
			return nil, nil, entryError(e, fmt.Errorf("input %q: given for some elements of the batch only", spec.Name))
		case t != nil && wire.ShapeString(t.Shape) != wire.ShapeString(shape):
			return nil, nil, entryError(e, fmt.Errorf("input %q: shape %s, but %s in the first element of the batch", spec.Name, wire.ShapeString(shape), wire.ShapeString(t.Shape)))
		case t != nil && int64(len(t.Data)+len(data)) > left:
			return nil, nil, entryError(e, fmt.Errorf("input %q: %w", spec.Name, errRequestTooLarge))
		case t != nil:
			t.Data = append(t.Data, data...)
		}
	}
	if t != nil && b.model.MaxBatch > 0 {
		t.Shape = append([]int64{b.batch}, t.Shape...)
	}
	return t, first, nil
}

// element returns the input's data for one batch element, of at most most bytes; nil for an
// input that is left out.
func (b *Backend) element(spec *tensorSpec, e *workload.Entry, most int64) (shape []int64, data []byte, err error) {
	v, given := e.Values.Get(spec.Name)
	raw, inFile := e.Raw[spec.Name]
	if !given && !inFile {
		generate := e.Fill.Kind != workload.FillNone
		switch {
		case spec.Optional && (len(e.Values) > 0 || len(e.Raw) > 0 || !generate):
			return nil, nil, nil
		case !generate:
			return nil, nil, errors.New("no data, and it is not optional")
		}
		shape, err = b.shape(spec, e, nil, -1)
		if err != nil {
			return nil, nil, err
		}
		n, err := fillBytes(e.Fill, spec.Datatype, shape)
		if err != nil {
			return nil, nil, err
		}
		if n > most {
			return nil, nil, errRequestTooLarge
		}
		data, err = fill(e.Fill, spec.Datatype, shape)
		return shape, data, err
	}
	var in wire.Input
	if inFile {
		if in, err = parseRaw(raw, spec.Datatype); err != nil {
			return nil, nil, err
		}
	} else if v.Text {
		in = wire.Input{Count: 1, Data: wire.AppendBytes(nil, string(v.Data))}
		if spec.Datatype != wire.BYTES {
			return nil, nil, fmt.Errorf("expected a value of %s, found a string", spec.Datatype)
		}
	} else if in, err = wire.ParseInput(v.Data, spec.Datatype); err != nil {
		return nil, nil, err
	}
	if shape, err = b.shape(spec, e, in.Shape, in.Count); err != nil {
		return nil, nil, err
	}
	if in.Data == nil {
		in.Data = []byte{}
	}
	if int64(len(in.Data)) > most {
		return nil, nil, errRequestTooLarge
	}
	return shape, in.Data, wire.CheckSize(spec.Datatype, shape, in.Data)
}

// shape returns the shape of one batch element. It is the shape given with the data. If
// there is none and the model has open dimensions, it is the entry's or the
// configuration's. Otherwise it is the model's, where one open dimension follows from the
// number of elements (< 0: unknown).
func (b *Backend) shape(spec *tensorSpec, e *workload.Entry, beside []int64, count int64) ([]int64, error) {
	want := spec.Shape
	fits := func(s []int64) error {
		ok := len(s) == len(want)
		for i := 0; ok && i < len(s); i++ {
			ok = want[i] < 0 || want[i] == s[i]
		}
		if !ok {
			return fmt.Errorf("shape %s does not fit the model's %s", wire.ShapeString(s), wire.ShapeString(want))
		}
		return nil
	}
	if beside != nil {
		return beside, fits(beside)
	}
	open, at := 0, 0
	known := make([]int64, len(want)) // the dimensions by which count is divided
	for i, d := range want {
		if known[i] = max(d, 1); d < 0 {
			open, at = open+1, i
		}
	}
	if open == 0 {
		return want, nil
	}
	for _, shapes := range []map[string][]int64{e.Shapes, b.cfg.Shapes} {
		if s, ok := shapes[spec.Name]; ok {
			return s, fits(s)
		}
	}
	fixed, err := wire.Count(known)
	if err != nil {
		return nil, fmt.Errorf("the model's shape %s is too large", wire.ShapeString(want))
	}
	if open > 1 || count < 0 || count%fixed != 0 {
		return nil, fmt.Errorf("the model leaves shape %s open; give --shape %s:DIMS, or \"shape\" beside the data", wire.ShapeString(want), spec.Name)
	}
	s := append([]int64{}, want...)
	s[at] = count / fixed
	return s, nil
}
