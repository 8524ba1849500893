package profilejson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
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
	arena     jsonscan.Arena
	names     jsonscan.Names
	meta      requestMeta
	maxItems  int             // of responses, fields and extra together
	shared    *outputEnvelope // nil: values have no envelopes

	// bad is the error of the first bad time; a request without its times is dropped.
	// The rest is still read, to check the JSON. side is the error of the first other
	// member whose value has the wrong type, which counts as absent.
	bad     *jsonscan.Error
	side    *jsonscan.Error
	hasTime bool
	twice   string // name of a repeated member
	plain   bool   // an output is not an object
}

// A response of two bytes in the file ("1,") or a field takes itemBytes in memory, on average. So that
// a hostile request within the limit cannot cost many times the limit, all its
// responses and fields together may take itemsFactor times that. The leanest
// real ones, 19 digits of time and an output such as {"O":1}, take 3.7 times
// their text.
const (
	itemBytes   = 52
	itemsFactor = 4

	// responseBytes is the memory that a program needs to analyze a response.
	responseBytes = 320
)

var errTooMany = errors.New("too many responses or outputs")

// room reports errTooMany when one more item does not fit.
func (d *decoder) room() error {
	if len(d.responses)+len(d.fields)+len(d.extra) >= d.maxItems {
		return errTooMany
	}
	return nil
}

// Bits of the members seen, to find members that are repeated.
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
	d.begin(len(b))
	d.resetRequest()
	return d.object(b)
}

// begin makes the memory of the last request ready for one of size bytes at most.
func (d *decoder) begin(size int) {
	clear(d.responses)
	d.responses, d.fields, d.extra = d.responses[:0], d.fields[:0], d.extra[:0]
	d.arena.Reset(size)
}

// object is decode into memory that is ready. It leaves the memory before alone.
func (d *decoder) object(b []byte) (end int, err error) {
	seen := 0
	i := 1
	for first := true; ; first = false {
		var name []byte
		var more bool
		name, i, more, err = d.arena.Key(b, i, first)
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
			f := export.Field{Name: d.names.Intern(name)}
			f.Value, i, err = d.value(b, i)
			d.extra = append(d.extra, f)
		}
		if err != nil {
			return i, err
		}
		if seen&bit != 0 {
			d.twice = d.names.Intern(name)
		}
		seen |= bit
	}
	d.finish()
	return i, nil
}

// resetRequest forgets the last request, but not its memory.
func (d *decoder) resetRequest() {
	d.req = export.Request{NoOutputs: true, Status: export.StatusOK, Phase: export.PhaseMeasured}
	d.meta.reset()
	d.nTimes, d.nOutputs = 0, 0
	d.bad, d.side, d.hasTime, d.twice, d.plain = nil, nil, false, "", false
}

// sound reports whether the request needs no warning.
func (d *decoder) sound() bool {
	return d.bad == nil && d.side == nil && d.twice == "" && !d.plain && d.meta.warning == "" && (d.req.NoOutputs || d.nTimes == d.nOutputs)
}

// finish completes the request after all members were read, because members come in any
// order.
func (d *decoder) finish() {
	if !d.hasTime && d.bad == nil {
		d.bad = &jsonscan.Error{At: 0, Msg: `member "timestamp" is missing`}
	}
	for i := d.nOutputs; i < d.nTimes; i++ {
		d.responses[i].Outputs = nil
	}
	if len(d.extra) > 0 {
		d.req.Extra = d.extra[:len(d.extra):len(d.extra)]
	}
	if d.nTimes > 0 {
		d.req.Responses = d.responses[:d.nTimes:d.nTimes]
	}
	d.meta.apply(&d.req)
}

// wrong records that the time at b[i] has the wrong type, and skips the value. what is
// the message, with the expected type.
func (d *decoder) wrong(b []byte, i int, what string) (end int, err error) {
	return mistyped(&d.bad, b, i, what)
}

// aside is wrong for a member that a request can lack.
func (d *decoder) aside(b []byte, i int, what string) (end int, err error) {
	return mistyped(&d.side, b, i, what)
}

func mistyped(first **jsonscan.Error, b []byte, i int, what string) (end int, err error) {
	end, _, err = jsonscan.Value(b, i)
	if err == nil && *first == nil {
		*first = &jsonscan.Error{At: i, Msg: fmt.Sprintf("%s, found %s", what, jsonscan.Excerpt(b[i:end]))}
	}
	return end, err
}

func (d *decoder) timestamp(b []byte, i int) (v uint64, end int, err error) {
	v, end, bad, err := jsonscan.Uint(b, i)
	if bad {
		end, err = d.wrong(b, i, `member "timestamp": expected an integer from 0 to 18446744073709551615`)
	}
	return v, end, err
}

// uint decodes an integer of a member that a request can lack.
func (d *decoder) uint(b []byte, i int, member string) (v uint64, end int, err error) {
	v, end, bad, err := jsonscan.Uint(b, i)
	if bad {
		end, err = d.aside(b, i, fmt.Sprintf("member %q: expected an integer from 0 to 18446744073709551615", member))
	}
	return v, end, err
}

// value decodes any value.
func (d *decoder) value(b []byte, i int) (v export.Value, end int, err error) {
	if i < len(b) && b[i] == '"' {
		v.Text = true
		v.Data, end, err = d.arena.Text(b, i)
		return v, end, err
	}
	end, spaced, err := jsonscan.Value(b, i)
	if err != nil {
		return v, end, err
	}
	v.Data = b[i:end:end]
	if spaced {
		v.Data = d.arena.Compact(v.Data)
	}
	return v, end, nil
}

// noFields is the object without members. nil means that there is no object.
var noFields = export.Fields{}

// inputs decodes request_inputs: an object of named values, or null.
func (d *decoder) inputs(b []byte, i int) (f export.Fields, end int, err error) {
	if i < len(b) && b[i] == 'n' {
		end, err = jsonscan.Literal(b, i)
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
		name, next, more, err := d.arena.Key(b, i, first)
		if err != nil {
			return nil, next, err
		}
		if !more {
			if len(d.fields) == start {
				return noFields, next, nil
			}
			// The capacity ends here, so that an append cannot overwrite
			// fields that are decoded later.
			return export.Fields(d.fields[start:len(d.fields):len(d.fields)]), next, nil
		}
		if err := d.room(); err != nil {
			return nil, next, err
		}
		f := export.Field{Name: d.names.Intern(name)}
		if f.Value, i, err = d.value(b, next); err != nil {
			return nil, i, err
		}
		d.fields = append(d.fields, f)
	}
}

// response returns response k, and adds it if k is one past the last.
func (d *decoder) response(k int) (*export.Response, error) {
	if k == len(d.responses) {
		if err := d.room(); err != nil {
			return nil, err
		}
		d.responses = append(d.responses, export.Response{})
	}
	return &d.responses[k], nil
}

// makeRoom allocates the responses of an array of times once, by the number of its
// commas; b is the text after the bracket, which may break off. It returns errTooMany
// if they do not fit. Without it, 30 million times of two bytes took 1.1 GB before they
// were refused.
func (d *decoder) makeRoom(b []byte) error {
	if end := bytes.IndexByte(b, ']'); end >= 0 {
		b = b[:end]
	}
	n := bytes.Count(b, []byte{','}) + 1
	if max(n, len(d.responses))+len(d.fields)+len(d.extra) > d.maxItems {
		return errTooMany
	}
	d.responses = slices.Grow(d.responses, max(0, n-len(d.responses)))
	return nil
}

// times decodes response_timestamps.
func (d *decoder) times(b []byte, i int) (end int, err error) {
	const what = `member "response_timestamps": expected an array of integers from 0 to 18446744073709551615`
	if i < len(b) && b[i] == 'n' {
		return jsonscan.Literal(b, i)
	}
	if i >= len(b) || b[i] != '[' {
		return d.wrong(b, i, what)
	}
	i++
	if err := d.makeRoom(b[i:]); err != nil {
		return i, err
	}
	for first := true; ; first = false {
		var more bool
		if i, more, err = jsonscan.NextElem(b, i, first); err != nil || !more {
			return i, err
		}
		ns, next, bad, err := jsonscan.Uint(b, i)
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
		return jsonscan.Literal(b, i)
	}
	if i >= len(b) || b[i] != '[' {
		return d.aside(b, i, `member "response_outputs": expected an array`)
	}
	d.req.NoOutputs = false
	i++
	for first := true; ; first = false {
		var more bool
		if i, more, err = jsonscan.NextElem(b, i, first); err != nil || !more {
			return i, err
		}
		r, err := d.response(d.nOutputs)
		if err != nil {
			return i, err
		}
		d.nOutputs++
		switch b[i] {
		case '{':
			if d.shared == nil {
				r.Outputs, i, err = d.members(b, i)
			} else {
				r.Outputs, i, err = d.sharedOutput(b, i)
			}
		case 'n':
			r.Outputs = nil
			i, err = jsonscan.Literal(b, i)
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

// sharedOutput is members for an output that may share its text with others.
func (d *decoder) sharedOutput(b []byte, i int) (f export.Fields, end int, err error) {
	v, end, ok := d.shared.open(b, i)
	if !ok || d.room() != nil {
		if f, end, err = d.members(b, i); err == nil {
			d.shared.learn(b[i:end], f)
		}
		return f, end, err
	}
	start := len(d.fields)
	d.fields = append(d.fields, export.Field{Name: d.shared.name, Value: v})
	return export.Fields(d.fields[start : start+1 : start+1]), end, nil
}
