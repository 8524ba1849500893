package profilejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

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

// A requestMeta holds the members of a request's "pa" that belong to its
// responses, until all responses are known.
type requestMeta struct {
	present  bool
	hasReads bool
	reads    []uint64
	source   export.StampSource // of all responses
	sources  []export.StampSource
	final    []uint64
	errors   []uint64
	reason   []byte
	warning  string // about the last member that is not as it should be; "" for none
}

func (m *requestMeta) reset() {
	*m = requestMeta{reads: m.reads[:0], sources: m.sources[:0], final: m.final[:0], errors: m.errors[:0]}
}

// apply sets the members of r from m, after all responses of r were decoded.
func (m *requestMeta) apply(r *export.Request) {
	r.HasMeta = m.present
	if !m.present {
		return
	}
	n := len(r.Responses)
	for i := range r.Responses {
		x := &r.Responses[i]
		x.Read = uint32(i)
		x.Source = m.source
	}
	if m.hasReads {
		m.aligned("reads", len(m.reads), n)
		for i := range min(n, len(m.reads)) {
			r.Responses[i].Read = uint32(m.reads[i])
		}
	}
	if len(m.sources) > 0 {
		m.aligned("sources", len(m.sources), n)
		for i := range min(n, len(m.sources)) {
			r.Responses[i].Source = m.sources[i]
		}
	}
	for _, i := range m.final {
		if i < uint64(n) {
			r.Responses[i].Final = true
		} else {
			m.warning = fmt.Sprintf("member \"final\" names response %d of %d", i, n)
		}
	}
	for _, i := range m.errors {
		if i < uint64(n) {
			r.Responses[i].Error = true
		} else {
			m.warning = fmt.Sprintf("member \"errors\" names response %d of %d", i, n)
		}
	}
}

func (m *requestMeta) aligned(name string, got, want int) {
	if got != want {
		m.warning = fmt.Sprintf("%d responses but %d %s", want, got, name)
	}
}

// exclude sets the status and phase of a request in excluded_requests by its reason,
// unless the request states them.
func (m *requestMeta) exclude(r *export.Request) {
	if r.Excluded() != export.NotExcluded {
		return
	}
	switch export.Exclusion(m.reason) {
	case export.ExcludedWarmup:
		r.Phase = export.PhaseWarmup
	case export.ExcludedLate:
		r.Phase = export.PhaseCooldown
	case export.ExcludedCancelled:
		r.Status = export.StatusCancelled
	default:
		r.Status = export.StatusProtocolError
		m.warning = fmt.Sprintf("neither status, phase nor the reason %q says why it is excluded", m.reason)
	}
}

// metaObject decodes a request's "pa".
func (d *decoder) metaObject(b []byte, i int) (end int, err error) {
	if i >= len(b) || b[i] != '{' {
		return d.aside(b, i, `member "pa": expected an object`)
	}
	d.meta.present = true
	i++
	next := 0 // in metaMembers: most files have them in that order
	for first := true; ; first = false {
		member, at, ok := expectMember(b, i, first, next)
		var name []byte
		if !ok {
			var more bool
			if name, at, more, err = d.arena.Key(b, i, first); err != nil || !more {
				return at, err
			}
			member = findMember(name)
		}
		if member < 0 {
			d.meta.warning = fmt.Sprintf("member \"pa\" has an unknown member %.40q, which is not kept", name)
			i, _, err = jsonscan.Value(b, at)
		} else if m := &metaMembers[member]; m.field != nil {
			i, err = d.metaField(b, at, m.name, m.field(&d.req))
		} else {
			i, err = d.responseMeta(b, at, m.name)
		}
		next = member + 1
		if err != nil {
			return i, err
		}
	}
}

// expectMember returns the index in metaMembers of the member at b[i], and where its value begins. ok is false
// unless the member is next or after it, and written without white space.
func expectMember(b []byte, i int, first bool, next int) (member, at int, ok bool) {
	if !first {
		if i >= len(b) || b[i] != ',' {
			return 0, 0, false
		}
		i++
	}
	const least = len(`"id":`)
	if len(b)-i <= least || b[i] != '"' {
		return 0, 0, false
	}
	for k := next; k < len(metaKeys); k++ {
		key := metaKeys[k]
		if b[i+1] == key[1] && bytes.HasPrefix(b[i:], []byte(key)) {
			at = i + len(key)
			return k, at, at < len(b) && b[at] > ' '
		}
	}
	return 0, 0, false
}

// findMember returns the index in metaMembers of a member; -1 if there is none.
func findMember(name []byte) int {
	for k := range metaMembers {
		if string(name) == metaMembers[k].name {
			return k
		}
	}
	if string(name) == "scheduled" { // as short exports write it
		return findMember([]byte("scheduled_ns"))
	}
	return -1
}

// metaField decodes the value of a member into the field that p points to.
func (d *decoder) metaField(b []byte, i int, name string, p any) (end int, err error) {
	switch p := p.(type) {
	case *uint64:
		*p, end, err = d.uint(b, i, name)
	case *int:
		var v int64
		v, end, err = d.int64(b, i, name)
		*p = int(v)
	case *time.Duration:
		var v int64
		v, end, err = d.int64(b, i, name)
		*p = time.Duration(v)
	case *bool:
		*p, end, err = d.bool(b, i, name)
	case *string:
		*p, end, err = d.string(b, i, name)
	case *export.StampSource:
		*p, end, err = enum(d, b, i, name, parseSource)
	case *export.Status:
		*p, end, err = enum(d, b, i, name, export.ParseStatus)
	case *export.Phase:
		*p, end, err = enum(d, b, i, name, export.ParsePhase)
	case **export.Stated:
		*p, end, err = d.stated(b, i)
	default:
		panic("a member of a request has a type without a JSON form")
	}
	return end, err
}

// responseMeta decodes a member of a request's "pa" that is about its responses, or why it is excluded.
func (d *decoder) responseMeta(b []byte, i int, name string) (end int, err error) {
	m := &d.meta
	switch name {
	case "reason":
		m.reason, end, err = d.bytes(b, i, name)
	case "reads":
		m.reads, end, err = d.uints(m.reads[:0], b, i, name)
		m.hasReads = m.reads != nil
	case "sources":
		end, err = d.sources(b, i)
	case "final":
		m.final, end, err = d.uints(m.final[:0], b, i, name)
	case "errors":
		m.errors, end, err = d.uints(m.errors[:0], b, i, name)
	}
	return end, err
}

// stated decodes the figures that another tool's file states about a request.
func (d *decoder) stated(b []byte, i int) (s *export.Stated, end int, err error) {
	end, _, err = jsonscan.Value(b, i)
	if err != nil {
		return nil, end, err
	}
	if b[i] != '{' || json.Unmarshal(b[i:end], &s) != nil {
		end, err = d.aside(b, i, `member "stated": expected an object of numbers and a text`)
		return nil, end, err
	}
	return s, end, nil
}

func (d *decoder) bytes(b []byte, i int, member string) (v []byte, end int, err error) {
	if i < len(b) && b[i] == '"' {
		return d.arena.Text(b, i)
	}
	end, err = d.aside(b, i, fmt.Sprintf("member %q: expected a string", member))
	return nil, end, err
}

// string decodes a string that may be kept longer than the request.
func (d *decoder) string(b []byte, i int, member string) (s string, end int, err error) {
	v, end, err := d.bytes(b, i, member)
	return d.names.Intern(v), end, err
}

func (d *decoder) bool(b []byte, i int, member string) (v bool, end int, err error) {
	if i < len(b) && (b[i] == 't' || b[i] == 'f') {
		end, err = jsonscan.Literal(b, i)
		return b[i] == 't', end, err
	}
	end, err = d.aside(b, i, fmt.Sprintf("member %q: expected true or false", member))
	return false, end, err
}

func (d *decoder) int64(b []byte, i int, member string) (v int64, end int, err error) {
	end, _, err = jsonscan.Value(b, i)
	if err != nil {
		return 0, end, err
	}
	v, bad := strconv.ParseInt(string(b[i:end]), 10, 64)
	if bad != nil {
		end, err = d.aside(b, i, fmt.Sprintf("member %q: expected an integer of 64 bits", member))
	}
	return v, end, err
}

// enum decodes the name of a value. A name that a later version may have added
// is unknown, with a warning.
func enum[T any](d *decoder, b []byte, i int, member string, parse func(string) (T, error)) (v T, end int, err error) {
	name, end, err := d.bytes(b, i, member)
	if err != nil || name == nil {
		return v, end, err
	}
	v, bad := parse(d.names.Intern(name))
	if bad != nil {
		d.meta.warning = bad.Error()
	}
	return v, end, nil
}

func parseSource(name string) (export.StampSource, error) {
	for s := export.SourceUnknown; s <= export.SourceUser; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown source of a timestamp %.40q", name)
}

// sources decodes one name for all responses, or a name for each.
func (d *decoder) sources(b []byte, i int) (end int, err error) {
	m := &d.meta
	m.source, m.sources = 0, m.sources[:0]
	if i < len(b) && b[i] == '"' {
		m.source, end, err = enum(d, b, i, "sources", parseSource)
		return end, err
	}
	if i >= len(b) || b[i] != '[' {
		return d.aside(b, i, `member "sources": expected a string or an array of strings`)
	}
	return jsonscan.Elements(b, i, func(at int) (end int, err error) {
		s, end, err := enum(d, b, at, "sources", parseSource)
		m.sources = append(m.sources, s)
		return end, err
	})
}

// uints appends the integers of an array to dst. The result is nil when the
// member is something else, or one of its elements is.
func (d *decoder) uints(dst []uint64, b []byte, i int, member string) (v []uint64, end int, err error) {
	what := func() string {
		return fmt.Sprintf("member %q: expected an array of integers from 0 to 4294967295", member)
	}
	if i >= len(b) || b[i] != '[' {
		end, err = d.aside(b, i, what())
		return nil, end, err
	}
	v, sound := dst, true
	end, err = jsonscan.Elements(b, i, func(at int) (end int, err error) {
		n, end, bad, err := jsonscan.Uint(b, at)
		if err == nil && (bad || n > 1<<32-1) {
			sound = false
			return d.aside(b, at, what())
		}
		v = append(v, n)
		return end, err
	})
	switch {
	case !sound:
		v = nil
	case v == nil:
		v = []uint64{}
	}
	return v, end, err
}

// An outputEnvelope recognizes outputs with one text, such as {"response":"data: …\n\n"}, that
// differ only within the text. Such an output is compared with the parts that all have in
// common; its text is not decoded. See jsonscan.Envelope, which makes sure that nothing is
// escaped between these parts.
type outputEnvelope struct {
	front, back []byte           // of the object as written; empty without an envelope
	name        string           // of the output
	envelope    *export.Envelope // of the text
	text        jsonscan.Envelope
}

// open returns the value of the output at b[i] and where the output ends. ok is false if the
// output is not in the envelope.
func (o *outputEnvelope) open(b []byte, i int) (v export.Value, end int, ok bool) {
	if len(o.front) == 0 || !bytes.HasPrefix(b[i:], o.front) {
		return v, i, false
	}
	from := i + len(o.front)
	to := jsonscan.IndexSpecial(b, from)
	if !bytes.HasPrefix(b[to:], o.back) {
		return v, i, false
	}
	o.text.Used()
	return export.Value{Text: true, Data: b[from:to:to], Envelope: o.envelope}, to + len(o.back), true
}

// learn looks at an output that was decoded: object is its JSON, and f its fields.
func (o *outputEnvelope) learn(object []byte, f export.Fields) {
	if len(f) != 1 || !f[0].Value.Text {
		return
	}
	// {"name" : "text" }
	name, err := jsonscan.String(object, jsonscan.SkipSpace(object, 1))
	if err != nil {
		return
	}
	colon := jsonscan.SkipSpace(object, name)
	from := jsonscan.SkipSpace(object, colon+1) + 1
	to, err := jsonscan.String(object, from-1)
	if err != nil || !o.text.Learn(object[from:to]) {
		return
	}
	t := &o.text
	o.name = f[0].Name
	o.front = append(append(o.front[:0], object[:from]...), t.Front...)
	o.back = append(append(o.back[:0], t.Back...), object[to:]...)
	o.envelope = &export.Envelope{Front: slices.Clone(t.FrontContent), Back: slices.Clone(t.BackContent)}
}
