package kserve

import (
	"bytes"
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// An expectation is the required value of an output: perf_analyzer's validation_data.
type expectation struct {
	output string
	data   []byte
}

// expectations reads the expected outputs of the answer to a batch. Every entry must
// expect the same outputs.
func (b *Backend) expectations(es []*workload.Entry) ([]expectation, error) {
	var all []expectation
	for i, e := range es {
		one, err := b.expected(e)
		if err != nil {
			return nil, entryError(e, err)
		}
		if i == 0 {
			all = one
			continue
		}
		if len(one) != len(all) {
			return nil, entryError(e, fmt.Errorf("expected %s, as for the first element of the batch, found %d", plural.Of(len(all), "output"), len(one)))
		}
		for k := range one {
			if one[k].output != all[k].output {
				return nil, entryError(e, fmt.Errorf("expected output %q, as for the first element of the batch, found %q", all[k].output, one[k].output))
			}
			all[k].data = append(all[k].data, one[k].data...)
		}
	}
	return all, nil
}

// expected reads what one entry expects, in the order of the model's outputs.
func (b *Backend) expected(e *workload.Entry) ([]expectation, error) {
	for _, f := range e.Expected {
		if b.model.output(f.Name) == nil {
			return nil, fmt.Errorf("validation data: model %s has no output %q; it has %s", b.model.Name, clip(f.Name), joinNames(b.model.Outputs))
		}
	}
	var all []expectation
	for i := range b.model.Outputs {
		spec := &b.model.Outputs[i]
		if v, ok := e.Expected.Get(spec.Name); ok {
			in, err := wire.ParseInput(v.Data, spec.Datatype)
			if err != nil {
				return nil, fmt.Errorf("validation data: output %q: %w", spec.Name, err)
			}
			all = append(all, expectation{spec.Name, in.Data})
		} else if raw, ok := e.Raw[spec.Name]; ok {
			in, err := parseRaw(raw, spec.Datatype)
			if err != nil {
				return nil, fmt.Errorf("validation data: output %q: %w", spec.Name, err)
			}
			all = append(all, expectation{spec.Name, in.Data})
		}
	}
	return all, nil
}

// parseRaw reads a file of perf_analyzer's directories of input data: raw bytes,
// for BYTES a text with an element on each line.
func parseRaw(raw []byte, dt wire.Datatype) (wire.Input, error) {
	if dt != wire.BYTES {
		size := int64(dt.Size())
		if size > 0 && int64(len(raw))%size != 0 {
			return wire.Input{}, fmt.Errorf("%d bytes are not a multiple of %s's %d", len(raw), dt, size)
		}
		return wire.Input{Count: int64(len(raw)) / max(size, 1), Data: raw}, nil
	}
	in := wire.Input{Data: []byte{}}
	for line := range bytes.Lines(raw) {
		in.Data = wire.AppendBytes(in.Data, string(bytes.TrimRight(line, "\r\n")))
		in.Count++
	}
	return in, nil
}

// validate compares the answer's response in d with the expected outputs, as
// perf_analyzer does: each output that the response holds, byte for byte. The first
// difference makes the exchange a protocol error.
func (b *Backend) validate(x *backend.Exchange, d *wire.Response) {
	p, ok := x.Sent.(*payload)
	if !ok || x.Request.Status != export.StatusOK {
		return
	}
	for _, want := range p.expected {
		for i := range d.Outputs {
			if got := &d.Outputs[i]; got.Name == want.output && !bytes.Equal(got.Data, want.data) {
				x.Request.Status = export.StatusProtocolError
				x.Request.Message = fmt.Sprintf("output %q is not what the validation data expects: %d bytes that differ from %d at byte %d", want.output, len(got.Data), len(want.data), firstDifference(got.Data, want.data))
				return
			}
		}
	}
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
