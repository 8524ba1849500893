package kserve

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/export"
)

// Value returns the value that perf_analyzer 25.01 and later export for a tensor with these
// raw bytes:
//
//   - no bytes: the empty string, whatever the type
//   - BYTES: a string of all bytes after the first four (the first element's
//     length; the lengths of further elements stay in the string)
//   - one number or BOOL: a scalar; several: a flat array, the shape is lost
//   - FP16, BF16 and unknown types: null
//
// Floats are written as appendFloat does. perf_analyzer has no text for NaN
// and infinities (it leaves a file of 0 bytes); here they are the strings
// "NaN", "Infinity" and "-Infinity".
//
// It returns an error if raw is not a whole number of elements. The value shares no memory
// with raw.
func Value(dt Datatype, raw []byte) (export.Value, error) {
	if len(raw) == 0 {
		return export.Value{Text: true, Data: []byte{}}, nil
	}
	switch dt {
	case BYTES:
		if len(raw) < 4 {
			return export.Value{}, fmt.Errorf("BYTES tensor of %d bytes: no room for the 4-byte length", len(raw))
		}
		return export.Value{Text: true, Data: append([]byte{}, raw[4:]...)}, nil
	case FP16, BF16:
		return export.JSON("null"), nil
	}
	size := dt.Size()
	if size == 0 {
		return export.JSON("null"), nil
	}
	if len(raw)%size != 0 {
		return export.Value{}, fmt.Errorf("%s tensor of %d bytes: not a multiple of %d", dt, len(raw), size)
	}
	if len(raw) == size {
		b := appendElement(make([]byte, 0, 24), dt, raw)
		if b[0] == '"' {
			return export.Value{Text: true, Data: b[1 : len(b)-1]}, nil
		}
		return export.Value{Data: b}, nil
	}
	return export.Value{Data: AppendJSON(make([]byte, 0, 2+4*len(raw)/size), dt, raw)}, nil
}

// AppendJSON appends the flat JSON array of a tensor's elements to b, as the
// "data" member of HTTP requests and responses has it. raw must be whole
// elements. For FP16, BF16 and unknown types the array is empty, because JSON has no form
// for them. Elements of BYTES become JSON strings.
func AppendJSON(b []byte, dt Datatype, raw []byte) []byte {
	b = append(b, '[')
	switch size := dt.Size(); {
	case dt == BYTES:
		for first := true; ; first = false {
			e, rest, ok := NextBytes(raw)
			if !ok {
				break
			}
			if !first {
				b = append(b, ',')
			}
			b = appendString(b, e)
			raw = rest
		}
	case size == 0 || dt == FP16 || dt == BF16:
	default:
		for i := 0; i+size <= len(raw); i += size {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendElement(b, dt, raw[i:])
		}
	}
	return append(b, ']')
}

// CheckJSON returns why a tensor cannot be sent as JSON: the type has no form there, a
// number is NaN or infinite, or a string is not UTF-8. raw must be whole elements.
func CheckJSON(dt Datatype, raw []byte) error {
	size := dt.Size()
	if dt != BYTES && (size == 0 || dt == FP16 || dt == BF16) {
		return fmt.Errorf("%s cannot be written as JSON", dt)
	}
	for i := 0; dt == BYTES; i++ {
		e, rest, ok := NextBytes(raw)
		if !ok {
			return nil
		}
		if !utf8.Valid(e) {
			return fmt.Errorf("element %d is not UTF-8, and cannot be written as JSON", i)
		}
		raw = rest
	}
	for i := 0; (dt == FP32 || dt == FP64) && i+size <= len(raw); i += size {
		var f float64
		if dt == FP32 {
			f = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])))
		} else {
			f = math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("element %d is %v, which cannot be written as JSON", i/size, f)
		}
	}
	return nil
}

// appendElement appends the JSON text of the number or BOOL at the head of raw.
func appendElement(b []byte, dt Datatype, raw []byte) []byte {
	le := binary.LittleEndian
	switch dt {
	case BOOL:
		return strconv.AppendBool(b, raw[0] != 0)
	case UINT8:
		return strconv.AppendUint(b, uint64(raw[0]), 10)
	case UINT16:
		return strconv.AppendUint(b, uint64(le.Uint16(raw)), 10)
	case UINT32:
		return strconv.AppendUint(b, uint64(le.Uint32(raw)), 10)
	case UINT64:
		return strconv.AppendUint(b, le.Uint64(raw), 10)
	case INT8:
		return strconv.AppendInt(b, int64(int8(raw[0])), 10)
	case INT16:
		return strconv.AppendInt(b, int64(int16(le.Uint16(raw))), 10)
	case INT32:
		return strconv.AppendInt(b, int64(int32(le.Uint32(raw))), 10)
	case INT64:
		return strconv.AppendInt(b, int64(le.Uint64(raw)), 10)
	case FP32:
		return appendFloatText(b, float64(math.Float32frombits(le.Uint32(raw))))
	case FP64:
		return appendFloatText(b, math.Float64frombits(le.Uint64(raw)))
	}
	return append(b, "null"...)
}

// appendFloatText is appendFloat with the special values as JSON strings.
func appendFloatText(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(appendFloat(append(b, '"'), f), '"')
	}
	return appendFloat(b, f)
}

// AppendBytes appends one element of a BYTES tensor: its length and its bytes.
func AppendBytes[T ~string | ~[]byte](b []byte, element T) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(element)))
	return append(b, element...)
}

// NextBytes returns the first element of the raw BYTES tensor and the rest after it. ok is
// false at the end, and if the length exceeds the rest; rest is then raw unchanged.
func NextBytes(raw []byte) (element, rest []byte, ok bool) {
	if len(raw) < 4 {
		return nil, raw, false
	}
	n := uint64(binary.LittleEndian.Uint32(raw))
	if n > uint64(len(raw)-4) {
		return nil, raw, false
	}
	return raw[4 : 4+n], raw[4+n:], true
}

// countBytes returns the number of elements of a raw BYTES tensor. It returns an error if the
// lengths do not add up.
func countBytes(raw []byte) (int64, error) {
	var n int64
	for total := len(raw); len(raw) > 0; n++ {
		_, rest, ok := NextBytes(raw)
		if !ok {
			return n, fmt.Errorf("BYTES tensor: element %d, at byte %d of %d, has no valid 4-byte little-endian length before it", n, total-len(raw), total)
		}
		raw = rest
	}
	return n, nil
}
