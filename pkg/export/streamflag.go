package export

import (
	"bytes"
	"strings"
)

// StreamFlag reports whether the inputs of a request ask for a streamed answer
// through a tensor named stream or STREAM, as for Triton's LLM backends. said is
// false if there is no such tensor, or if its elements differ.
func (f Fields) StreamFlag() (stream, said bool) {
	for i := range f {
		if strings.EqualFold(f[i].Name, "stream") {
			return f[i].Value.flag()
		}
	}
	return false, false
}

// flag returns the common value of all elements of a BOOL tensor. It may be written
// as true, [true], 1, or the raw bytes that perf_analyzer before 24.08 wrote as a
// string.
func (v Value) flag() (value, ok bool) {
	var elements [][]byte
	if v.Text {
		elements = bytes.Split(v.Data, nil)
	} else {
		elements = bytes.Split(bytes.Trim(v.Data, "[]"), []byte(","))
	}
	if s := string(v.Data); v.Text && (s == "true" || s == "false") {
		elements = [][]byte{v.Data}
	}
	for i, e := range elements {
		var is bool
		switch string(e) {
		case "true", "1", "\x01":
			is = true
		case "false", "0", "\x00":
		default:
			return false, false
		}
		if i > 0 && is != value {
			return false, false
		}
		value, ok = is, true
	}
	return value, ok
}
