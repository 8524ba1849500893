package profilejson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// A decoder turns the text of a request into an export.Request, in memory that
// it uses again for the next one.
type decoder struct {
	req       export.Request
	responses []export.Response
	nTimes    int // responses[:nTimes] have a time
	nOutputs  int // responses[:nOutputs] have outputs
	fields    []export.Field
	extra     []export.Field
	arena     arena
	names     names
	meta      requestMeta
	maxItems  int // of responses, fields and extra together

	// bad is the first of the times, without which a request is none, that is
	// not what it has to be. The rest is still read, to see whether the JSON is
	// sound. side is the first other member whose value has the wrong type: it
	// is read as if it were absent.
	bad     *scanError
	side    *scanError
	hasTime bool
	twice   string // a member that is there twice
	plain   bool   // an output is no object
}

// A response of two bytes in the file ("1,") takes itemBytes in memory. So that
// a hostile request within the limit cannot cost many times the limit, all its
// responses and fields together may take itemsFactor times that. The leanest
// real ones, 19 digits of time and an output such as {"O":1}, take 3.4 times
// their text.
const (
	itemBytes   = 48
	itemsFactor = 4
)

var errTooMany = errors.New("too many responses or outputs")

// room reports errTooMany when one more item does not fit.
func (d *decoder) room() error {
	if len(d.responses)+len(d.fields)+len(d.extra) >= d.maxItems {
		return errTooMany
	}
	return nil
}

// Bits of the members seen, to find those that are there twice.
const (
	seenTimestamp = 1 << iota
	seenSequence
	seenInputs
	seenTimes
	seenOutputs
	seenMeta
)

// decode decodes the object that starts at b[0] and returns where it ends.
// d.req is valid when err is nil and d.bad is nil.
func (d *decoder) decode(b []byte) (end int, err error) {
	d.reset(len(b))
	seen := 0
	i := 1
	for first := true; ; first = false {
		var name []byte
		var more bool
		name, i, more, err = d.key(b, i, first)
		if err != nil {
			return i, err
		}
		if !more {
			break
		}
		bit := 0
		switch string(name) {
		case "timestamp":
			bit = seenTimestamp
			d.req.StartNS, i, err = d.timestamp(b, i)
			d.hasTime = true
		case "sequence_id":
			bit = seenSequence
			d.req.SequenceID, i, err = d.uint(b, i, "sequence_id")
		case "request_inputs":
			bit = seenInputs
			d.req.Inputs, i, err = d.inputs(b, i)
		case "response_timestamps":
			bit = seenTimes
			d.nTimes = 0
			i, err = d.times(b, i)
		case "response_outputs":
			bit = seenOutputs
			d.nOutputs = 0
			i, err = d.outputs(b, i)
		case "pa":
			bit = seenMeta
			i, err = d.metaObject(b, i)
		default:
			if err = d.room(); err != nil {
				return i, err
			}
			f := export.Field{Name: d.names.intern(name)}
			f.Value, i, err = d.value(b, i)
			d.extra = append(d.extra, f)
		}
		if err != nil {
			return i, err
		}
		if seen&bit != 0 {
			d.twice = d.names.intern(name)
		}
		seen |= bit
	}
	d.finish()
	return i, nil
}

func (d *decoder) reset(size int) {
	d.req = export.Request{NoOutputs: true}
	d.extra = d.extra[:0]
	clear(d.responses)
	d.responses = d.responses[:0]
	d.fields = d.fields[:0]
	d.arena.reset(size)
	d.meta.reset()
	d.nTimes, d.nOutputs = 0, 0
	d.bad, d.side, d.hasTime, d.twice, d.plain = nil, nil, false, "", false
}

// finish puts together what may come in any order.
func (d *decoder) finish() {
	if !d.hasTime && d.bad == nil {
		d.bad = &scanError{0, `member "timestamp" is missing`}
	}
	for i := d.nOutputs; i < d.nTimes; i++ {
		d.responses[i].Outputs = nil
	}
	if len(d.extra) > 0 {
		d.req.Extra = d.extra
	}
	if d.nTimes > 0 {
		d.req.Responses = d.responses[:d.nTimes:d.nTimes]
	}
	d.meta.apply(&d.req)
}

// wrong notes that the value at b[i], one of the times, has not the type that
// what says, and goes past it.
func (d *decoder) wrong(b []byte, i int, what string) (end int, err error) {
	return mistyped(&d.bad, b, i, what)
}

// aside does the same for a member without which a request can be read.
func (d *decoder) aside(b []byte, i int, what string) (end int, err error) {
	return mistyped(&d.side, b, i, what)
}

func mistyped(first **scanError, b []byte, i int, what string) (end int, err error) {
	end, _, err = scanValue(b, i)
	if err == nil && *first == nil {
		*first = &scanError{i, fmt.Sprintf("%s, found %s", what, excerpt(b[i:end]))}
	}
	return end, err
}

// key goes to the next member of an object and past its name and colon. more
// is false, and next after the '}', when there is none.
func (d *decoder) key(b []byte, i int, first bool) (name []byte, next int, more bool, err error) {
	i = skipSpace(b, i)
	switch {
	case i >= len(b):
		return nil, i, false, errMore
	case b[i] == '}':
		return nil, i + 1, false, nil
	case first:
	case b[i] != ',':
		return nil, i, false, expected("',' or '}'", b, i)
	default:
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return nil, i, false, expected("a member name", b, i)
	}
	name, i, err = d.arena.text(b, i)
	if err != nil {
		return nil, i, false, err
	}
	if i < len(b) && b[i] != ':' {
		i = skipSpace(b, i)
	}
	if i >= len(b) || b[i] != ':' {
		return nil, i, false, expected("':'", b, i)
	}
	i = skipSpace(b, i+1)
	if i >= len(b) {
		return nil, i, false, errMore
	}
	return name, i, true, nil
}

// nextElem goes to the next element of an array; i is after the '[' or after an
// element. more is false, and next after the ']', when there is none.
func nextElem(b []byte, i int, first bool) (next int, more bool, err error) {
	i = skipSpace(b, i)
	switch {
	case i >= len(b):
		return i, false, errMore
	case b[i] == ']':
		return i + 1, false, nil
	case first:
		return i, true, nil
	case b[i] != ',':
		return i, false, expected("',' or ']'", b, i)
	}
	i = skipSpace(b, i+1)
	if i >= len(b) {
		return i, false, errMore
	}
	return i, true, nil
}

// scanUint scans an integer, also one that is written as 1.0 or 1e+18. bad
// reports a sound JSON value that is not one of 64 bits without a sign.
func scanUint(b []byte, i int) (v uint64, end int, bad bool, err error) {
	start := i
	// A time stamp has 19 digits: twice eight at once, then three.
	for i+8 <= len(b) && i-start < 16 {
		w := binary.LittleEndian.Uint64(b[i:])
		if !eightDigits(w) {
			break
		}
		v = v*1e8 + parseEight(w)
		i += 8
	}
	for i < len(b) && i-start < 19 && b[i]-'0' <= 9 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	if i == len(b) {
		return 0, i, false, errMore
	}
	c := b[i]
	if i > start && c-'0' > 9 && c != '.' && c|0x20 != 'e' && (b[start] != '0' || i == start+1) {
		return v, i, false, nil
	}
	// 20 digits, or something else.
	end, _, err = scanValue(b, start)
	if err != nil {
		return 0, end, false, err
	}
	v, ok := integral(b[start:end])
	return v, end, !ok, nil
}

// integral returns the value of the JSON text v, exactly, if that is a number
// without a sign that is an integer of 64 bits.
func integral(v []byte) (n uint64, ok bool) {
	exp, zeros := 0, 0 // digits so far are n · 10^zeros; all is that · 10^exp
	point := false
	i := 0
	for ; i < len(v) && v[i]|0x20 != 'e'; i++ {
		c := v[i]
		switch {
		case c == '.' && i > 0:
			point = true
			continue
		case c-'0' > 9:
			return 0, false
		case c == '0':
			zeros++
		default:
			if n, ok = shifted(n, zeros+1); !ok || n > 1<<64-1-uint64(c-'0') {
				return 0, false
			}
			n += uint64(c - '0')
			zeros = 0
		}
		if point {
			exp--
		}
	}
	if n == 0 {
		return 0, true
	}
	if i < len(v) {
		e, err := strconv.Atoi(string(v[i+1:]))
		if err != nil { // of so many digits that no mantissa makes up for it
			return 0, false
		}
		exp += e
	}
	// A fraction of zeros is none.
	return shifted(n, zeros+exp)
}

// shifted returns n · 10^by. ok is false when that is no integer of 64 bits; n
// does not end in 0.
func shifted(n uint64, by int) (v uint64, ok bool) {
	if n == 0 {
		return 0, true
	}
	if by < 0 || by > 19 {
		return 0, false
	}
	for range by {
		hi, lo := bits.Mul64(n, 10)
		if hi != 0 {
			return 0, false
		}
		n = lo
	}
	return n, true
}

// eightDigits reports whether all bytes of w are '0' to '9': the upper half of
// each is 3, and still is after adding 6.
func eightDigits(w uint64) bool {
	return w&(lsb*0xF0)|(w+lsb*6)&(lsb*0xF0)>>4 == lsb*0x33
}

// parseEight returns the number that eight digits are, the first in the lowest
// byte: neighbours are joined to pairs, pairs to fours, fours to the eight.
func parseEight(w uint64) uint64 {
	w -= lsb * '0'
	w = w*10 + w>>8
	const mask = 0x000000FF000000FF
	return (w&mask*(100+1000000<<32) + w>>16&mask*(1+10000<<32)) >> 32
}

func (d *decoder) timestamp(b []byte, i int) (v uint64, end int, err error) {
	v, end, bad, err := scanUint(b, i)
	if bad {
		end, err = d.wrong(b, i, `member "timestamp": expected an integer from 0 to 18446744073709551615`)
	}
	return v, end, err
}

// uint decodes an integer of a member that can be done without.
func (d *decoder) uint(b []byte, i int, member string) (v uint64, end int, err error) {
	v, end, bad, err := scanUint(b, i)
	if bad {
		end, err = d.aside(b, i, fmt.Sprintf("member %q: expected an integer from 0 to 18446744073709551615", member))
	}
	return v, end, err
}

// value decodes any value.
func (d *decoder) value(b []byte, i int) (v export.Value, end int, err error) {
	if i < len(b) && b[i] == '"' {
		v.Text = true
		v.Data, end, err = d.arena.text(b, i)
		return v, end, err
	}
	end, spaced, err := scanValue(b, i)
	if err != nil {
		return v, end, err
	}
	v.Data = b[i:end:end]
	if spaced {
		at := d.arena.n
		out := appendCompact(d.arena.buf[:at], v.Data)
		d.arena.n = len(out)
		v.Data = out[at:len(out):len(out)]
	}
	return v, end, nil
}

// noFields is the object without members, as opposed to none.
var noFields = export.Fields{}

// inputs decodes request_inputs: an object of named values, or null.
func (d *decoder) inputs(b []byte, i int) (f export.Fields, end int, err error) {
	if i < len(b) && b[i] == 'n' {
		end, err = scanLiteral(b, i)
		return nil, end, err
	}
	if i >= len(b) || b[i] != '{' {
		end, err = d.aside(b, i, `member "request_inputs": expected an object`)
		return nil, end, err
	}
	return d.members(b, i)
}

// members decodes the object at b[i].
func (d *decoder) members(b []byte, i int) (f export.Fields, end int, err error) {
	start := len(d.fields)
	i++
	for first := true; ; first = false {
		name, next, more, err := d.key(b, i, first)
		if err != nil {
			return nil, next, err
		}
		if !more {
			if len(d.fields) == start {
				return noFields, next, nil
			}
			// The capacity ends here, so that what is decoded later cannot
			// be appended over.
			return export.Fields(d.fields[start:len(d.fields):len(d.fields)]), next, nil
		}
		if err := d.room(); err != nil {
			return nil, next, err
		}
		f := export.Field{Name: d.names.intern(name)}
		if f.Value, i, err = d.value(b, next); err != nil {
			return nil, i, err
		}
		d.fields = append(d.fields, f)
	}
}

// response returns the response number k, which is at most one past the last.
func (d *decoder) response(k int) (*export.Response, error) {
	if k == len(d.responses) {
		if err := d.room(); err != nil {
			return nil, err
		}
		d.responses = append(d.responses, export.Response{})
	}
	return &d.responses[k], nil
}

// times decodes response_timestamps.
func (d *decoder) times(b []byte, i int) (end int, err error) {
	const what = `member "response_timestamps": expected an array of integers from 0 to 18446744073709551615`
	if i < len(b) && b[i] == 'n' {
		return scanLiteral(b, i)
	}
	if i >= len(b) || b[i] != '[' {
		return d.wrong(b, i, what)
	}
	i++
	for first := true; ; first = false {
		var more bool
		if i, more, err = nextElem(b, i, first); err != nil || !more {
			return i, err
		}
		ns, next, bad, err := scanUint(b, i)
		if err != nil {
			return next, err
		}
		if bad {
			if next, err = d.wrong(b, i, what); err != nil {
				return next, err
			}
		}
		r, err := d.response(d.nTimes)
		if err != nil {
			return next, err
		}
		r.RecvNS = ns
		d.nTimes++
		i = next
	}
}

// outputs decodes response_outputs.
func (d *decoder) outputs(b []byte, i int) (end int, err error) {
	if i < len(b) && b[i] == 'n' {
		return scanLiteral(b, i)
	}
	if i >= len(b) || b[i] != '[' {
		return d.aside(b, i, `member "response_outputs": expected an array`)
	}
	d.req.NoOutputs = false
	i++
	for first := true; ; first = false {
		var more bool
		if i, more, err = nextElem(b, i, first); err != nil || !more {
			return i, err
		}
		r, err := d.response(d.nOutputs)
		if err != nil {
			return i, err
		}
		d.nOutputs++
		switch b[i] {
		case '{':
			r.Outputs, i, err = d.members(b, i)
		case 'n':
			r.Outputs = nil
			i, err = scanLiteral(b, i)
		default:
			// A development version of February 2024 wrote plain strings.
			start := len(d.fields)
			var v export.Value
			if err := d.room(); err != nil {
				return i, err
			}
			v, i, err = d.value(b, i)
			d.fields = append(d.fields, export.Field{Value: v})
			r.Outputs = export.Fields(d.fields[start : start+1 : start+1])
			d.plain = true
		}
		if err != nil {
			return i, err
		}
	}
}
