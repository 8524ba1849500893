package kserve

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
)

// maxTensorDepth bounds the nesting of the arrays of a tensor.
const maxTensorDepth = 64

// An Input holds the data of a tensor in an input file.
type Input struct {
	Shape []int64 // nil where the file gives none
	Count int64   // number of elements in Data
	Data  []byte
}

// ParseInput reads a tensor from one of the JSON forms of perf_analyzer's
// input data:
//
//	[1,2,3]                               elements in row-major order; nested arrays are flattened
//	5   "text"   true                     one element
//	{"b64":"AQAAAA=="}                    raw bytes: little endian, BYTES with their lengths
//	{"content":[…]}  {"content":{"b64":…}}  the same, with an optional "shape":[…]
//
// Integers must be integers in range, BOOL true or false, BYTES strings. FP32
// and FP64 take any number, integers too, which perf_analyzer rejects; and NaN,
// Infinity and Inf with an optional minus sign, which it takes. FP16 and BF16
// have only the b64 forms. Strings are kept byte for byte, valid UTF-8 or not.
//
// It checks that a given shape and the number of elements agree. Errors name
// the element or member, not the tensor.
func ParseInput(js []byte, dt Datatype) (Input, error) {
	if !dt.known() {
		return Input{}, fmt.Errorf("datatype %q is not known", clip(string(dt)))
	}
	p := inputParser{Walker: jsonscan.Walker{Text: js, Words: true}, dt: dt}
	var in Input
	p.tensor(&in, true)
	p.End()
	if !p.data {
		p.Fail(`no data: expected an array, {"b64":…} or {"content":…}`)
	}
	if p.Err != nil {
		return Input{}, p.Err
	}
	in.Data = p.out
	if p.b64 {
		var err error
		in.Count, err = elements(dt, in.Data)
		if err != nil {
			return Input{}, fmt.Errorf("b64: %w", err)
		}
	} else {
		in.Count = p.n
	}
	if in.Shape != nil {
		if err := CheckSize(dt, in.Shape, in.Data); err != nil {
			return Input{}, err
		}
	}
	return in, nil
}

// CheckSize checks that data fits a tensor of that type and shape: for BYTES by the number
// of elements, else by the number of bytes. An unknown type has no size and passes.
func CheckSize(dt Datatype, shape []int64, data []byte) error {
	want, err := Count(shape)
	if err != nil {
		return err
	}
	if dt == BYTES {
		got, err := countBytes(data)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("shape %s: expected %s, found %d", ShapeString(shape), plural.GroupedOf(want, "element"), got)
		}
		return nil
	}
	size := int64(dt.Size())
	if size == 0 {
		return nil
	}
	if want > math.MaxInt64/size || want*size != int64(len(data)) {
		return fmt.Errorf("%s of shape %s: expected %s bytes, found %d", dt, ShapeString(shape), product(want, size), len(data))
	}
	return nil
}

func product(n, size int64) string {
	if n > math.MaxInt64/size {
		return fmt.Sprintf("%d times %d", n, size)
	}
	return strconv.FormatInt(n*size, 10)
}

func elements(dt Datatype, data []byte) (int64, error) {
	if dt == BYTES {
		return countBytes(data)
	}
	size := dt.Size()
	if len(data)%size != 0 {
		return 0, fmt.Errorf("%s: %d bytes are not a multiple of %d", dt, len(data), size)
	}
	return int64(len(data) / size), nil
}

// inputParser flattens one JSON value into raw bytes.
type inputParser struct {
	jsonscan.Walker
	dt   Datatype
	out  []byte
	n    int64 // elements in out, unless b64
	data bool  // data was found
	b64  bool
}

// tensor reads a value of any form; outer is false inside "content".
func (p *inputParser) tensor(in *Input, outer bool) {
	switch c := p.Peek(); {
	case c == '{':
		for ok := p.OpenObject(); ok; ok = p.NextMember() {
			switch key := string(p.Key); {
			case key == "b64":
				p.base64()
			case key == "content" && outer:
				p.tensor(in, false)
			case key == "shape" && outer:
				p.shape(in)
			default:
				p.Skip()
			}
		}
	case p.data:
		p.Fail("data given twice")
	default:
		p.data = true
		if p.dt == FP16 || p.dt == BF16 {
			p.Fail(`%s data cannot be written as numbers; give its bytes as {"content":{"b64":"…"},"shape":[…]}`, p.dt)
		}
		p.out = []byte{}
		p.elements(0)
	}
}

func (p *inputParser) base64() {
	if p.data {
		p.Fail("data given twice")
		return
	}
	if p.Peek() != '"' {
		p.Expected("a string as b64")
		return
	}
	text := string(p.String())
	enc := base64.StdEncoding
	if !strings.HasSuffix(text, "=") {
		enc = base64.RawStdEncoding
	}
	var err error
	if p.out, err = enc.DecodeString(text); err != nil {
		p.Stop(fmt.Errorf("b64: %w", err))
	}
	p.data, p.b64 = true, true
}

func (p *inputParser) shape(in *Input) {
	if p.Peek() != '[' {
		p.Expected("an array of integers as shape")
		return
	}
	in.Shape = []int64{}
	for ok := p.OpenArray(); ok; ok = p.NextElement() {
		tok := p.Word()
		d, err := strconv.ParseInt(string(tok), 10, 64)
		if err != nil || d < 0 {
			p.Stop(fmt.Errorf("shape: dimension %d: %q is not an integer of at least 0", len(in.Shape), clip(tok)))
		}
		in.Shape = append(in.Shape, d)
	}
}

// elements appends the scalars of a value, at any depth of arrays.
func (p *inputParser) elements(depth int) {
	switch p.Peek() {
	case '[':
		if depth >= maxTensorDepth {
			p.Fail("arrays nested deeper than %d", maxTensorDepth)
			return
		}
		for ok := p.OpenArray(); ok; ok = p.NextElement() {
			p.elements(depth + 1)
		}
		return
	case '{':
		p.Stop(fmt.Errorf("element %d: expected %s, found an object", p.n, p.want()))
	case '"':
		if p.dt != BYTES {
			p.Stop(fmt.Errorf("element %d: expected %s, found a string", p.n, p.want()))
			return
		}
		text := p.String()
		if uint64(len(text)) > math.MaxUint32 {
			p.Stop(fmt.Errorf("element %d: a string of %d bytes is longer than BYTES can hold", p.n, len(text)))
		}
		p.out = AppendBytes(p.out, text)
	default:
		tok := p.Word()
		if p.Err != nil {
			return
		}
		var err error
		if p.out, err = p.scalar(p.out, tok); err != nil {
			p.Stop(fmt.Errorf("element %d: %w", p.n, err))
		}
	}
	p.n++
}

// want describes a valid element, for messages.
func (p *inputParser) want() string {
	switch p.dt {
	case BYTES:
		return "a string for BYTES"
	case BOOL:
		return "true or false for BOOL"
	case FP32, FP64:
		return "a number for " + string(p.dt)
	}
	return "an integer for " + string(p.dt)
}

// scalar appends the raw bytes of a token that is not a string.
func (p *inputParser) scalar(b, tok []byte) ([]byte, error) {
	le := binary.LittleEndian
	bits := 8 * p.dt.Size()
	wrong := func() error { return fmt.Errorf("expected %s, found %s", p.want(), clip(tok)) }
	switch p.dt {
	case BOOL:
		switch string(tok) {
		case "true":
			return append(b, 1), nil
		case "false":
			return append(b, 0), nil
		}
		return nil, wrong()
	case INT8, INT16, INT32, INT64:
		if !jsonscan.IsNumber(tok) {
			return nil, wrong()
		}
		v, err := strconv.ParseInt(string(tok), 10, bits)
		switch {
		case err == nil:
			return appendUint(b, uint64(v), bits), nil
		case outOfRange(err):
			return nil, fmt.Errorf("%s is out of range for %s (%d to %d)", clip(tok), p.dt, int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
		}
		return nil, wrong()
	case UINT8, UINT16, UINT32, UINT64:
		if !jsonscan.IsNumber(tok) {
			return nil, wrong()
		}
		v, err := strconv.ParseUint(string(bytes.TrimPrefix(tok, []byte("-"))), 10, bits)
		switch {
		case err == nil && (v == 0 || tok[0] != '-'):
			return appendUint(b, v, bits), nil
		case err == nil || outOfRange(err):
			return nil, fmt.Errorf("%s is out of range for %s (0 to %d)", clip(tok), p.dt, uint64(math.MaxUint64)>>(64-bits))
		}
		return nil, wrong()
	case FP32, FP64:
		f, err := parseFloat(tok)
		if err == nil && p.dt == FP32 && !math.IsInf(f, 0) && math.IsInf(float64(float32(f)), 0) {
			err = strconv.ErrRange
		}
		switch {
		case err == nil && p.dt == FP32:
			// Through float64, as perf_analyzer reads it.
			return le.AppendUint32(b, math.Float32bits(float32(f))), nil
		case err == nil:
			return le.AppendUint64(b, math.Float64bits(f)), nil
		case outOfRange(err):
			return nil, fmt.Errorf("%s is out of range for %s", clip(tok), p.dt)
		}
		return nil, wrong()
	}
	return nil, wrong()
}

func appendUint(b []byte, v uint64, bits int) []byte {
	for ; bits > 0; bits -= 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}
