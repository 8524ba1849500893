package openai

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A RequestInfo is what a request's body says about how it is answered.
type RequestInfo struct {
	Model string // "" when absent or not a string
	// Stream is the value of "stream"; HasStream is false when it is absent
	// or null.
	Stream    bool
	HasStream bool
}

// InspectRequest reads the top level of a request's body. Of a repeated key
// the last counts.
func InspectRequest(body []byte) (RequestInfo, error) {
	var info RequestInfo
	var s scanner
	s.reset(body)
	for ok := s.openObject(); ok; ok = s.nextMember() {
		switch string(s.key) {
		case "model":
			info.Model = string(s.text())
		case "stream":
			c := s.peek()
			info.Stream, info.HasStream = c == 't', c == 't' || c == 'f'
			s.skip()
		default:
			s.skip()
		}
	}
	s.end()
	return info, s.err
}

// AppendCompact appends a JSON value to dst as perf_analyzer writes it: no
// white space, keys in their order, number text as it is, strings with the
// escapes that JSON requires and no others. Halves of surrogate pairs stay
// escaped.
func AppendCompact(dst, value []byte) ([]byte, error) {
	var s scanner
	s.reset(value)
	dst = s.appendValue(dst)
	s.end()
	return dst, s.err
}

// MergeRequest returns the request body with the members of the object extra
// set in its top level, compact as by AppendCompact. A member that the body
// has is replaced where it stands, others are appended in their order. An
// empty extra changes nothing.
func MergeRequest(body, extra []byte) ([]byte, error) {
	have, err := members(body)
	if err != nil {
		return nil, err
	}
	if len(extra) > 0 {
		set, err := members(extra)
		if err != nil {
			return nil, err
		}
		have = merge(have, set)
	}
	out := append(make([]byte, 0, len(body)+len(extra)), '{')
	for i, m := range have {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.key...), ':'), m.value...)
	}
	return append(out, '}'), nil
}

// Messages returns the elements of "messages" in a chat request's body, as
// compact JSON without the brackets around them. The error is that there is no
// such list.
func Messages(body []byte) ([]byte, error) {
	all, err := members(body)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(all) { // of a repeated key the last one counts
		if string(m.key) == `"messages"` && m.value[0] == '[' {
			return m.value[1 : len(m.value)-1], nil
		}
	}
	return nil, errors.New(`no "messages": not the request of a chat`)
}

// A member of an object: the key as compact JSON text, and so its value.
type member struct {
	key, value []byte
}

func members(object []byte) ([]member, error) {
	var s scanner
	s.reset(object)
	var all []member
	for ok := s.openObject(); ok; ok = s.nextMember() {
		key := appendString(nil, s.rawKey)
		all = append(all, member{key, s.appendValue(nil)})
	}
	s.end()
	return all, s.err
}

func merge(have, set []member) []member {
	place := map[string]int{}
	for i, m := range have {
		place[string(m.key)] = i // of a repeated key the last one counts
	}
	for _, m := range set {
		if i, ok := place[string(m.key)]; ok {
			have[i] = m
			continue
		}
		place[string(m.key)] = len(have)
		have = append(have, m)
	}
	return have
}

// appendValue appends the next value in compact form.
func (s *scanner) appendValue(dst []byte) []byte {
	switch s.peek() {
	case '{':
		dst = append(dst, '{')
		for ok := s.openObject(); ok; ok = s.nextMember() {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, s.rawKey), ':')
			dst = s.appendValue(dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for ok := s.openArray(); ok; ok = s.nextElement() {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = s.appendValue(dst)
		}
		return append(dst, ']')
	case '"':
		raw, _ := s.stringBody()
		return appendString(dst, raw)
	default:
		return append(dst, s.value()...)
	}
}

// appendString appends the string whose valid body is raw, with no escapes
// but the necessary ones.
func appendString(dst, raw []byte) []byte {
	dst = append(dst, '"')
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(append(dst, raw...), '"')
		}
		dst = append(dst, raw[:i]...)
		r, n := unescape(raw[i:])
		switch {
		case r == utf8.RuneError && bytes.EqualFold(raw[i:i+n], []byte(`\ufffd`)):
			dst = utf8.AppendRune(dst, r)
		case r == utf8.RuneError: // half a surrogate pair
			dst = append(dst, raw[i:i+n]...)
		default:
			dst = appendChar(dst, r)
		}
		raw = raw[i+n:]
	}
}

func appendChar(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < 0x20 {
		return fmt.Appendf(dst, `\u%04X`, r)
	}
	return utf8.AppendRune(dst, r)
}
