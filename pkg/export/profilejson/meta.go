package profilejson

import (
	"bytes"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

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
	{"agent", func(r *export.Request) any { return &r.Agent }},
	{"parent_agent", func(r *export.Request) any { return &r.ParentAgent }},
	{"depth", func(r *export.Request) any { return &r.Depth }},
	{"model", func(r *export.Request) any { return &r.Model }},
	{"worker", func(r *export.Request) any { return &r.Worker }},
	{"conn", func(r *export.Request) any { return &r.Conn }},
	{"rank", func(r *export.Request) any { return &r.Rank }},
	{"status", func(r *export.Request) any { return &r.Status }},
	{"code", func(r *export.Request) any { return &r.Code }},
	{"message", func(r *export.Request) any { return &r.Message }},
	{"request_id", func(r *export.Request) any { return &r.RequestID }},
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

// metaKeys are the names of metaMembers as a recorder writes them, with the colon.
var metaKeys = func() (keys [len(metaMembers)]string) {
	for k := range metaMembers {
		keys[k] = `"` + metaMembers[k].name + `":`
	}
	return keys
}()

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
	return append(appendText(b, []byte(v)), ',')
}
