package openai

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A RequestInfo holds the members of a request's body that decide how it is answered.
type RequestInfo struct {
	Model string // "" when absent or not a string
	// Stream is the value of "stream"; HasStream is false when it is absent
	// or null.
	Stream    bool
	HasStream bool
	// N is how many answers the request asks for; 0 when absent or not a number.
	N int64
	// EncodingFormat is the form of the numbers that a request for embeddings asks for; "" when absent or not a string.
	EncodingFormat string
}

// InspectRequest reads the top level of a request's body. The last of repeated keys
// counts.
func InspectRequest(body []byte) (RequestInfo, error) {
	var info RequestInfo
	var w jsonscan.Walker
	w.Reset(body)
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "model":
			info.Model = string(w.String())
		case "stream":
			c := w.Peek()
			info.Stream, info.HasStream = c == 't', c == 't' || c == 'f'
			w.Skip()
		case "n":
			info.N, _ = count(&w)
		case "encoding_format":
			info.EncodingFormat = string(w.String())
		default:
			w.Skip()
		}
	}
	w.End()
	return info, w.Err
}

// AppendCompact appends a JSON value to dst as perf_analyzer writes it: no
// white space, keys in their order, number text as it is, strings with the
// escapes that JSON requires and no others. Halves of surrogate pairs stay
// escaped.
func AppendCompact(dst, value []byte) ([]byte, error) {
	var w jsonscan.Walker
	w.Reset(value)
	dst = appendValue(&w, dst)
	w.End()
	return dst, w.Err
}

// MergeRequest returns the request body with the members of the object extra set at its top
// level, compact as by AppendCompact. It replaces the members of the same name in their
// place and appends the others in order. "stream_options", Ollama's "options" and Gemini's "generationConfig" are merged member by
// member, so that an option does not take away the others. An empty extra changes nothing.
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

// Messages returns the elements of a request's member with messages, such as "messages" of a chat, as compact JSON without the
// brackets around them. A text in "input" is a message of the user. It fails if there is no such list.
func Messages(body []byte, member string) ([]byte, error) {
	all, err := members(body)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(all) { // of a repeated key the last one counts
		switch {
		case string(m.key) != `"`+member+`"`:
		case m.value[0] == '[':
			return m.value[1 : len(m.value)-1], nil
		case m.value[0] == '"' && member == "input":
			return slices.Concat([]byte(`{"role":"user","content":`), m.value, []byte{'}'}), nil
		}
	}
	return nil, fmt.Errorf("no %q: not the request of a chat", member)
}

// A member of an object: key and value as compact JSON text.
type member struct {
	key, value []byte
}

func members(object []byte) ([]member, error) {
	var w jsonscan.Walker
	w.Reset(object)
	var all []member
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		key := appendString(nil, w.RawKey)
		all = append(all, member{key, appendValue(&w, nil)})
	}
	w.End()
	return all, w.Err
}

// mergedMembers are the members that merge merges, as JSON strings.
var mergedMembers = []string{`"stream_options"`, `"options"`, `"generationConfig"`}

func merge(have, set []member) []member {
	place := map[string]int{}
	for i, m := range have {
		place[string(m.key)] = i // of a repeated key the last one counts
	}
	for _, m := range set {
		if i, ok := place[string(m.key)]; ok {
			if slices.Contains(mergedMembers, string(m.key)) && m.value[0] == '{' && have[i].value[0] == '{' {
				if both, err := MergeRequest(have[i].value, m.value); err == nil {
					m.value = both
				}
			}
			have[i] = m
			continue
		}
		place[string(m.key)] = len(have)
		have = append(have, m)
	}
	return have
}

// appendValue appends the next value in compact form.
func appendValue(w *jsonscan.Walker, dst []byte) []byte {
	switch w.Peek() {
	case '{':
		dst = append(dst, '{')
		for ok := w.OpenObject(); ok; ok = w.NextMember() {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, w.RawKey), ':')
			dst = appendValue(w, dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for ok := w.OpenArray(); ok; ok = w.NextElement() {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = appendValue(w, dst)
		}
		return append(dst, ']')
	case '"':
		raw, _ := w.StringBody()
		return appendString(dst, raw)
	default:
		return append(dst, w.Value()...)
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
		r, end := jsonscan.Unescape(raw, i)
		if utf16.IsSurrogate(r) { // half a pair
			dst = append(dst, raw[:end]...)
		} else {
			dst = appendChar(append(dst, raw[:i]...), r)
		}
		raw = raw[end:]
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
