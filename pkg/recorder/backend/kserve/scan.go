package kserve

import (
	"google.golang.org/protobuf/encoding/protowire"

	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// An outline holds the fields of a ModelStreamInferResponse that are needed while receiving:
// its request, and whether another response follows. The slices alias the message.
type outline struct {
	id       []byte
	errText  []byte
	final    bool
	hasFinal bool // the message says whether it is final
	empty    bool // the message says nothing at all
}

// scan reads the outline without the tensors. It allocates nothing. ok is false if b is no
// protobuf message.
func scan(b []byte) (o outline, ok bool) {
	o.empty = true
	ok = eachBytesField(b, func(num protowire.Number, v []byte) bool {
		o.empty = o.empty && len(v) == 0
		switch num {
		case 1: // error_message
			o.errText = v
		case 2: // infer_response
			return eachBytesField(v, func(num protowire.Number, v []byte) bool {
				switch num {
				case 3: // id
					o.id = v
				case 4: // parameters
					return o.param(v)
				}
				return true
			})
		}
		return true
	})
	return o, ok
}

// param reads one entry of the map of parameters.
func (o *outline) param(entry []byte) bool {
	var key, value []byte
	if !eachBytesField(entry, func(num protowire.Number, v []byte) bool {
		switch num {
		case 1:
			key = v
		case 2:
			value = v
		}
		return true
	}) {
		return false
	}
	if string(key) != wire.ParamFinal {
		return true
	}
	// InferParameter{bool_param = 1}; false is also written, because the field is part of
	// a oneof.
	for len(value) > 0 {
		num, typ, n := protowire.ConsumeTag(value)
		if n < 0 {
			return false
		}
		value = value[n:]
		if num == 1 && typ == protowire.VarintType {
			v, m := protowire.ConsumeVarint(value)
			if m < 0 {
				return false
			}
			o.final, o.hasFinal = v != 0, true
			value = value[m:]
			continue
		}
		m := protowire.ConsumeFieldValue(num, typ, value)
		if m < 0 {
			return false
		}
		value = value[m:]
	}
	return true
}

// eachBytesField calls f for each length-delimited field of a message until f returns
// false. It reports whether it read the whole message.
func eachBytesField(b []byte, f func(num protowire.Number, v []byte) bool) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return false
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 || !f(num, v) {
			return false
		}
		b = b[n:]
	}
	return true
}
