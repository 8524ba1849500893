package sim

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// appendProto appends a message as Triton's HTTP API renders it: with the names and the order
// of the .proto file, including unset members, and with 64-bit integers as numbers. The
// canonical JSON of protobuf has them as strings, which clients of Triton do not expect.
func appendProto(b []byte, m protoreflect.Message) []byte {
	b = append(b, '{')
	fields := m.Descriptor().Fields()
	first := true
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) && (f.ContainingOneof() != nil || f.Kind() == protoreflect.MessageKind && !f.IsList() && !f.IsMap()) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, '"'), f.Name()...)
		b = append(b, '"', ':')
		b = appendProtoField(b, f, m.Get(f))
	}
	return append(b, '}')
}

func appendProtoField(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch {
	case f.IsMap():
		return appendProtoMap(b, f, v.Map())
	case f.IsList():
		b = append(b, '[')
		l := v.List()
		for i := range l.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendProtoValue(b, f, l.Get(i))
		}
		return append(b, ']')
	}
	return appendProtoValue(b, f, v)
}

// appendProtoMap appends a map with sorted keys, so that equal messages give equal bytes.
func appendProtoMap(b []byte, f protoreflect.FieldDescriptor, m protoreflect.Map) []byte {
	values := map[string]protoreflect.Value{}
	var keys []string
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		keys = append(keys, k.String())
		values[k.String()] = v
		return true
	})
	slices.Sort(keys)
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONString(b, k), ':')
		b = appendProtoValue(b, f.MapValue(), values[k])
	}
	return append(b, '}')
}

func appendProtoValue(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return appendProto(b, v.Message())
	case protoreflect.StringKind:
		return appendJSONString(b, v.String())
	case protoreflect.BytesKind:
		return appendJSONString(b, base64.StdEncoding.EncodeToString(v.Bytes()))
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool())
	case protoreflect.EnumKind:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			return appendJSONString(b, string(e.Name()))
		}
		return strconv.AppendInt(b, int64(v.Enum()), 10)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(b, v.Uint(), 10)
	}
	return strconv.AppendInt(b, v.Int(), 10)
}

func appendJSONString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails to marshal
	}
	return append(b, text...)
}
