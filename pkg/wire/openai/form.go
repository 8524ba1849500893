package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A Form is the way in which a body holds an answer.
type Form uint8

// The forms of a body.
const (
	// FormOther is a body that is neither JSON nor events: a text, HTML.
	FormOther Form = iota
	// FormJSON is a JSON object or array, or several of them in lines of their own: see [IsJSONLines].
	FormJSON
	// FormEvents is a stream of server-sent events.
	FormEvents
)

// byteOrderMark may stand at the start of a body, once.
const byteOrderMark = "\ufeff"

// FormOf recognizes the form of a body by its first bytes, whatever its headers say. undecided says
// that head is too short to tell.
func FormOf(head []byte) (form Form, undecided bool) {
	if len(head) < len(byteOrderMark) && strings.HasPrefix(byteOrderMark, string(head)) {
		return FormOther, true
	}
	head = TrimFront(head)
	if len(head) == 0 {
		return FormOther, true
	}
	if head[0] == '{' || head[0] == '[' {
		return FormJSON, false
	}
	for _, field := range [...]string{"data:", "event:", "id:", "retry:", ":"} {
		if len(head) >= len(field) && string(head[:len(field)]) == field {
			return FormEvents, false
		}
		undecided = undecided || strings.HasPrefix(field, string(head))
	}
	return FormOther, undecided
}

// TrimFront cuts a byte order mark and white space off the front of a body.
func TrimFront(body []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(body, []byte(byteOrderMark)), blanks)
}

// blanks are the bytes of white space in JSON.
const blanks = " \t\r\n"

// IsJSONLines reports whether a body of FormJSON, or its beginning, is a stream of JSON objects in lines
// of their own (NDJSON): its first line is a whole object, and another object follows. first is the
// length of the body up to the end of that line; 0 if body has no second line yet. Other bodies are one
// JSON value, on one line or several.
func IsJSONLines(body []byte) (first int, yes bool) {
	text := TrimFront(body)
	front := len(body) - len(text)
	if len(text) == 0 || text[0] != '{' {
		return len(body), false
	}
	end := bytes.IndexByte(text, '\n')
	if end < 0 {
		return 0, false
	}
	rest := bytes.TrimLeft(text[end+1:], blanks)
	if len(rest) == 0 {
		return 0, false
	}
	first = front + end + 1
	return first, rest[0] == '{' && json.Valid(text[:end])
}
