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
	present   bool
	hasReads  bool
	reads     []uint64
	source    export.StampSource // of all responses
	sources   []export.StampSource
	final     []uint64
	errors    []uint64
	statusSet bool
	phaseSet  bool
	reason    []byte
	odd       string // text of a warning, "" for none
}

func (m *requestMeta) reset() {
	*m = requestMeta{reads: m.reads[:0], sources: m.sources[:0], final: m.final[:0], errors: m.errors[:0]}
}

// apply sets the members of r from m, after all responses of r were decoded.
func (m *requestMeta) apply(r *export.Request) {
	r.HasMeta = m.present
	if !m.statusSet {
		r.Status = export.StatusOK
	}
	if !m.phaseSet {
		r.Phase = export.PhaseMeasured
	}
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
			m.odd = fmt.Sprintf("member \"final\" names response %d of %d", i, n)
		}
	}
	for _, i := range m.errors {
		if i < uint64(n) {
			r.Responses[i].Error = true
		} else {
			m.odd = fmt.Sprintf("member \"errors\" names response %d of %d", i, n)
		}
	}
}

func (m *requestMeta) aligned(name string, got, want int) {
	if got != want {
		m.odd = fmt.Sprintf("%d responses but %d %s", want, got, name)
	}
}

// exclude sets the status and phase of a request in excluded_requests by its reason,
// unless the request states them.
func (m *requestMeta) exclude(r *export.Request) {
	if r.Excluded() != "" {
		return
	}
	switch string(m.reason) {
	case "warmup":
		r.Phase = export.PhaseWarmup
	case "late":
		r.Phase = export.PhaseCooldown
	case "cancelled":
		r.Status = export.StatusCancelled
	default:
		r.Status = export.StatusProtocolError
		m.odd = fmt.Sprintf("neither status, phase nor the reason %q says why it is excluded", m.reason)
	}
}

// metaObject decodes a request's "pa".
func (d *decoder) metaObject(b []byte, i int) (end int, err error) {
	if i >= len(b) || b[i] != '{' {
		return d.aside(b, i, `member "pa": expected an object`)
	}
	m := &d.meta
	m.present = true
	r := &d.req
	i++
	for first := true; ; first = false {
		name, next, more, err := d.arena.Key(b, i, first)
		if err != nil || !more {
			return next, err
		}
		i = next
		switch string(name) {
		case "id":
			r.ID, i, err = d.uint(b, i, "id")
		case "scheduled_ns", "scheduled": // the second as short exports write it
			r.ScheduledNS, i, err = d.uint(b, i, "scheduled_ns")
		case "issued_ns":
			r.IssuedNS, i, err = d.uint(b, i, "issued_ns")
		case "sent_ns":
			r.SentNS, i, err = d.uint(b, i, "sent_ns")
		case "first_byte_ns":
			r.FirstByteNS, i, err = d.uint(b, i, "first_byte_ns")
		case "ended_ns":
			r.EndedNS, i, err = d.uint(b, i, "ended_ns")
		case "start_source":
			r.StartSource, i, err = enum(d, b, i, "start_source", parseSource)
		case "dns_ns":
			r.DNS, i, err = d.span(b, i, "dns_ns")
		case "connect_ns":
			r.Connect, i, err = d.span(b, i, "connect_ns")
		case "tls_ns":
			r.TLS, i, err = d.span(b, i, "tls_ns")
		case "reused":
			r.Reused, i, err = d.bool(b, i, "reused")
		case "resent":
			r.Resent, i, err = d.bool(b, i, "resent")
		case "session_id":
			r.SessionID, i, err = d.string(b, i, "session_id")
		case "turn":
			r.Turn, i, err = d.int(b, i, "turn")
		case "model":
			r.Model, i, err = d.string(b, i, "model")
		case "worker":
			r.Worker, i, err = d.int(b, i, "worker")
		case "conn":
			r.Conn, i, err = d.int(b, i, "conn")
		case "rank":
			r.Rank, i, err = d.int(b, i, "rank")
		case "status":
			m.statusSet = true
			r.Status, i, err = enum(d, b, i, "status", export.ParseStatus)
		case "code":
			r.Code, i, err = d.int(b, i, "code")
		case "message":
			r.Message, i, err = d.string(b, i, "message")
		case "server_id":
			r.ServerID, i, err = d.string(b, i, "server_id")
		case "phase":
			m.phaseSet = true
			r.Phase, i, err = enum(d, b, i, "phase", export.ParsePhase)
		case "outputs_dropped":
			r.OutputsDropped, i, err = d.bool(b, i, "outputs_dropped")
		case "unrecorded_events":
			r.UnrecordedEvents, i, err = d.int(b, i, "unrecorded_events")
		case "stated":
			r.Stated, i, err = d.stated(b, i)
		case "reason":
			m.reason, i, err = d.bytes(b, i, "reason")
		case "reads":
			m.reads, i, err = d.uints(m.reads[:0], b, i, "reads")
			m.hasReads = m.reads != nil
		case "sources":
			i, err = d.sources(b, i)
		case "final":
			m.final, i, err = d.uints(m.final[:0], b, i, "final")
		case "errors":
			m.errors, i, err = d.uints(m.errors[:0], b, i, "errors")
		default:
			m.odd = fmt.Sprintf("member \"pa\" has an unknown member %.40q, which is not kept", name)
			i, _, err = jsonscan.Value(b, i)
		}
		if err != nil {
			return i, err
		}
	}
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

func (d *decoder) int(b []byte, i int, member string) (v, end int, err error) {
	n, end, err := d.int64(b, i, member)
	return int(n), end, err
}

func (d *decoder) span(b []byte, i int, member string) (v time.Duration, end int, err error) {
	n, end, err := d.int64(b, i, member)
	return time.Duration(n), end, err
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
		d.meta.odd = bad.Error()
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
	i++
	for first := true; ; first = false {
		var more bool
		if i, more, err = jsonscan.NextElem(b, i, first); err != nil || !more {
			return i, err
		}
		var s export.StampSource
		if s, i, err = enum(d, b, i, "sources", parseSource); err != nil {
			return i, err
		}
		m.sources = append(m.sources, s)
	}
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
	if dst == nil {
		dst = []uint64{}
	}
	i++
	for first := true; ; first = false {
		var more bool
		if i, more, err = jsonscan.NextElem(b, i, first); err != nil || !more {
			return dst, i, err
		}
		n, next, bad, err := jsonscan.Uint(b, i)
		if err == nil && (bad || n > 1<<32-1) {
			dst = nil
			next, err = d.aside(b, i, what())
		}
		if err != nil {
			return dst, next, err
		}
		if dst != nil {
			dst = append(dst, n)
		}
		i = next
	}
}

// appendMeta appends the "pa" of r, comma first, in the order in which
// metaObject reads it. Members that have their default are left out: 0, "ok",
// "measured", a read of its own for each response, unknown sources.
func appendMeta(b []byte, r *export.Request, reason string) []byte {
	b = append(b, `,"pa":{`...)
	start := len(b)
	if r.HasMeta {
		b = appendUint(b, "id", r.ID)
		b = appendUint(b, "scheduled_ns", r.ScheduledNS)
		b = appendUint(b, "issued_ns", r.IssuedNS)
		b = appendUint(b, "sent_ns", r.SentNS)
		b = appendUint(b, "first_byte_ns", r.FirstByteNS)
		b = appendUint(b, "ended_ns", r.EndedNS)
		if r.StartSource != export.SourceUnknown {
			b = appendString(b, "start_source", r.StartSource.String())
		}
		b = appendInt(b, "dns_ns", int64(r.DNS))
		b = appendInt(b, "connect_ns", int64(r.Connect))
		b = appendInt(b, "tls_ns", int64(r.TLS))
		if r.Reused {
			b = append(b, `"reused":true,`...)
		}
		if r.Resent {
			b = append(b, `"resent":true,`...)
		}
		b = appendString(b, "session_id", r.SessionID)
		b = appendInt(b, "turn", int64(r.Turn))
		b = appendString(b, "model", r.Model)
		b = appendInt(b, "worker", int64(r.Worker))
		b = appendInt(b, "conn", int64(r.Conn))
		b = appendInt(b, "rank", int64(r.Rank))
	}
	if r.Status != export.StatusOK && (r.HasMeta || reason != "" && r.Status != export.StatusUnknown) {
		b = appendString(b, "status", r.Status.String())
	}
	if r.HasMeta {
		b = appendInt(b, "code", int64(r.Code))
		b = appendString(b, "message", r.Message)
		b = appendString(b, "server_id", r.ServerID)
	}
	if r.Phase != export.PhaseMeasured && (r.HasMeta || reason != "" && r.Phase != export.PhaseUnknown) {
		b = appendString(b, "phase", r.Phase.String())
	}
	if r.HasMeta && r.OutputsDropped {
		b = append(b, `"outputs_dropped":true,`...)
	}
	if r.HasMeta {
		b = appendInt(b, "unrecorded_events", int64(r.UnrecordedEvents))
	}
	if r.HasMeta && r.Stated != nil {
		b = appendStated(b, r.Stated)
	}
	b = appendString(b, "reason", reason)
	if r.HasMeta {
		b = appendResponseMeta(b, r.Responses)
	}
	if len(b) > start {
		b = bytes.TrimSuffix(b, []byte{','})
	}
	return append(b, '}')
}

func appendStated(b []byte, s *export.Stated) []byte {
	text, err := marshal(s)
	if err != nil {
		return b // a struct of numbers and a string
	}
	return append(append(append(b, `"stated":`...), text...), ',')
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

func appendUint(b []byte, name string, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(strconv.AppendUint(b, v, 10), ',')
}

func appendInt(b []byte, name string, v int64) []byte {
	if v == 0 {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(strconv.AppendInt(b, v, 10), ',')
}

func appendString(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return append(appendText(b, v), ',')
}
