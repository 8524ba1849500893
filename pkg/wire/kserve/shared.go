package kserve

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Names of the parameters of a tensor whose data is in shared memory.
const (
	ParamSharedRegion = "shared_memory_region"
	ParamSharedBytes  = "shared_memory_byte_size"
	ParamSharedOffset = "shared_memory_offset"
)

// DefaultOutputSharedBytes is the number of bytes that perf_analyzer reserves in shared memory for
// each output.
const DefaultOutputSharedBytes = 102400

// A Shared is the place in shared memory of an input's or output's data, which the message
// itself does not carry.
type Shared struct {
	Region string // as it was registered with the server
	Offset int64
	Bytes  int64
}

// params returns the parameters that name the place.
func (s *Shared) params() []Param {
	return []Param{{ParamSharedRegion, s.Region}, {ParamSharedBytes, s.Bytes}, {ParamSharedOffset, s.Offset}}
}

// sharedOf returns the place that a tensor's parameters name; nil if they name none.
func sharedOf(ps []Param) *Shared {
	var s Shared
	for _, p := range ps {
		switch v := p.Value.(type) {
		case string:
			if p.Name == ParamSharedRegion {
				s.Region = v
			}
		case int64:
			switch p.Name {
			case ParamSharedBytes:
				s.Bytes = v
			case ParamSharedOffset:
				s.Offset = v
			}
		}
	}
	if s.Region == "" {
		return nil
	}
	return &s
}

// appendProto appends the place as parameters of a tensor, in field num.
func (s *Shared) appendProto(b []byte, num protowire.Number) []byte {
	for _, p := range s.params() {
		b = appendMessage(b, num, paramEntry(p))
	}
	return b
}

// AppendProtoOutput appends a requested output to a ModelInferRequest message.
func AppendProtoOutput(b []byte, o RequestedOutput) []byte {
	m := appendText(nil, 1, o.Name)
	if o.Shared != nil {
		m = o.Shared.appendProto(m, 2)
	}
	return appendMessage(b, fieldRequestOutputs, m)
}

// AppendHTTPOutputs appends the member "outputs" of a request's JSON.
func AppendHTTPOutputs(b []byte, all []RequestedOutput) []byte {
	b = append(b, `"outputs":[`...)
	for i, o := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(append(b, '{'), "name", o.Name)
		switch {
		case o.Shared != nil:
			b = appendParams(append(b, ','), o.Shared.params())
		case o.Binary:
			b = append(b, `,"parameters":{"binary_data":true}`...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// SizeOf returns how many bytes at the start of b hold a tensor of that type and shape.
// Elements of BYTES hold their own lengths. SizeOf fails if b is too short.
func SizeOf(t Datatype, shape []int64, b []byte) (int64, error) {
	n, err := Count(shape)
	if err != nil {
		return 0, err
	}
	if size := int64(t.Size()); t != BYTES {
		if size == 0 || n > int64(len(b))/size {
			return 0, errShort(t, shape, len(b))
		}
		return n * size, nil
	}
	rest := b
	for range n {
		_, after, ok := NextBytes(rest)
		if !ok {
			return 0, errShort(t, shape, len(b))
		}
		rest = after
	}
	return int64(len(b) - len(rest)), nil
}

func errShort(t Datatype, shape []int64, n int) error {
	return fmt.Errorf("%s of shape %s does not fit into %d bytes", clip(string(t)), ShapeString(shape), n)
}
