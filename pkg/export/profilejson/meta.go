package profilejson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

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

// A metaMember is a member of a request's "pa".
type metaMember struct {
	name string
	// field returns a pointer to the field of the request that the member holds. The type of the field
	// determines the JSON of the member. nil for members about the responses: see responseMeta.
	field func(*export.Request) any
}

// metaMembers lists the members in the order in which they are written. The field of a member that is not
// there is zero; status is then "ok", and phase "measured".
var metaMembers = [...]metaMember{
	{"id", func(r *export.Request) any { return &r.ID }},
	{"scheduled_ns", func(r *export.Request) any { return &r.ScheduledNS }},
	{"issued_ns", func(r *export.Request) any { return &r.IssuedNS }},
	{"sent_ns", func(r *export.Request) any { return &r.SentNS }},
	{"first_byte_ns", func(r *export.Request) any { return &r.FirstByteNS }},
	{"ended_ns", func(r *export.Request) any { return &r.FailedNS }},
	{"start_source", func(r *export.Request) any { return &r.StartSource }},
	{"dns_ns", func(r *export.Request) any { return &r.DNS }},
	{"connect_ns", func(r *export.Request) any { return &r.Connect }},
	{"tls_ns", func(r *export.Request) any { return &r.TLS }},
	{"reused", func(r *export.Request) any { return &r.Reused }},
	{"resent", func(r *export.Request) any { return &r.Resent }},
	{"session_id", func(r *export.Request) any { return &r.SessionID }},
	{"turn", func(r *export.Request) any { return &r.Turn }},
	{"model", func(r *export.Request) any { return &r.Model }},
	{"worker", func(r *export.Request) any { return &r.Worker }},
	{"conn", func(r *export.Request) any { return &r.Conn }},
	{"rank", func(r *export.Request) any { return &r.Rank }},
	{"status", func(r *export.Request) any { return &r.Status }},
	{"code", func(r *export.Request) any { return &r.Code }},
	{"message", func(r *export.Request) any { return &r.Message }},
	{"server_id", func(r *export.Request) any { return &r.ServerID }},
	{"phase", func(r *export.Request) any { return &r.Phase }},
	{"outputs_dropped", func(r *export.Request) any { return &r.OutputsDropped }},
	{"unrecorded_events", func(r *export.Request) any { return &r.UnrecordedEvents }},
	{"stated", func(r *export.Request) any { return &r.Stated }},
	{"reason", nil},
	{"reads", nil},
	{"sources", nil},
	{"final", nil},
	{"errors", nil},
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

// metaKeys are the names of metaMembers as a recorder writes them, with the colon.
var metaKeys = func() (keys [len(metaMembers)]string) {
	for k := range metaMembers {
		keys[k] = `"` + metaMembers[k].name + `":`
	}
	return keys
}()

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

// appendMeta appends the "pa" of r, comma first. Members that have their default are left out: 0,
// "ok", "measured", a read of its own for each response, unknown sources.
func appendMeta(b []byte, r *export.Request, reason export.Exclusion) []byte {
	b = append(b, `,"pa":{`...)
	start := len(b)
	for i := range metaMembers {
		m := &metaMembers[i]
		if m.field == nil {
			break
		}
		switch p := m.field(r).(type) {
		case *export.Status:
			if *p != export.StatusOK && (r.HasMeta || reason != "" && *p != export.StatusUnknown) {
				b = appendString(b, m.name, p.String())
			}
		case *export.Phase:
			if *p != export.PhaseMeasured && (r.HasMeta || reason != "" && *p != export.PhaseUnknown) {
				b = appendString(b, m.name, p.String())
			}
		default:
			if r.HasMeta {
				b = appendMember(b, m.name, p)
			}
		}
	}
	b = appendString(b, "reason", string(reason))
	if r.HasMeta {
		b = appendResponseMeta(b, r.Responses)
	}
	if len(b) > start {
		b = bytes.TrimSuffix(b, []byte{','})
	}
	return append(b, '}')
}

// appendMember appends the member for the field that p points to, unless the field is zero.
func appendMember(b []byte, name string, p any) []byte {
	switch p := p.(type) {
	case *uint64:
		return appendNumber(b, name, *p, strconv.AppendUint)
	case *int:
		return appendNumber(b, name, int64(*p), strconv.AppendInt)
	case *time.Duration:
		return appendNumber(b, name, int64(*p), strconv.AppendInt)
	case *bool:
		if *p {
			b = append(append(append(b, '"'), name...), `":true,`...)
		}
	case *string:
		return appendString(b, name, *p)
	case *export.StampSource:
		if *p != export.SourceUnknown {
			return appendString(b, name, p.String())
		}
	case **export.Stated:
		if *p == nil {
			return b
		}
		text, err := marshal(*p)
		if err != nil {
			return b // a struct of numbers and a string
		}
		return append(append(append(append(append(b, '"'), name...), `":`...), text...), ',')
	}
	return b
}

func appendResponseMeta(b []byte, responses []export.Response) []byte {
	ownReads, sameSource, final, failed := true, true, false, false
	for i := range responses {
		x := &responses[i]
		ownReads = ownReads && x.Read == uint32(i)
		sameSource = sameSource && x.Source == responses[0].Source
		final = final || x.Final
		failed = failed || x.Error
	}
	if !ownReads {
		b = append(b, `"reads":[`...)
		for i := range responses {
			b = append(strconv.AppendUint(b, uint64(responses[i].Read), 10), ',')
		}
		b = append(b[:len(b)-1], `],`...)
	}
	switch {
	case !sameSource:
		b = append(b, `"sources":[`...)
		for i := range responses {
			b = append(append(append(b, '"'), responses[i].Source.String()...), `",`...)
		}
		b = append(b[:len(b)-1], `],`...)
	case len(responses) > 0 && responses[0].Source != export.SourceUnknown:
		b = appendString(b, "sources", responses[0].Source.String())
	}
	if final {
		b = appendIndices(b, "final", responses, func(x *export.Response) bool { return x.Final })
	}
	if failed {
		b = appendIndices(b, "errors", responses, func(x *export.Response) bool { return x.Error })
	}
	return b
}

func appendIndices(b []byte, name string, responses []export.Response, has func(*export.Response) bool) []byte {
	b = append(append(append(b, '"'), name...), `":[`...)
	for i := range responses {
		if has(&responses[i]) {
			b = append(strconv.AppendInt(b, int64(i), 10), ',')
		}
	}
	return append(b[:len(b)-1], `],`...)
}

func appendNumber[T uint64 | int64](b []byte, name string, v T, appendTo func([]byte, T, int) []byte) []byte {
	if v == 0 {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(appendTo(b, v, 10), ',')
}

func appendString(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(appendText(b, v), ',')
}
