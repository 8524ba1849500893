package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A Form is the way in which a body holds an answer.
type Form uint8

// The forms of a body.
const (
	// FormOther is a body that is neither JSON nor events: a text, HTML.
	FormOther Form = iota
	// FormJSON is a JSON object or array, or several objects in lines of their own: see [IsJSONLines].
	FormJSON
	// FormEvents is a stream of server-sent events.
	FormEvents
)

const (
	// byteOrderMark may stand at the start of a body.
	byteOrderMark = "\ufeff"
	// blanks are the bytes of white space in JSON.
	blanks = " \t\r\n"
)

// FormOf recognizes the form of a body by its first bytes, whatever its headers say. undecided says
// that head is too short to tell. A caller that reads a body piece by piece then calls FormOf again with
// [TrimFront] of head and the next piece.
func FormOf(head []byte) (form Form, undecided bool) {
	head = TrimFront(head)
	if len(head) < len(byteOrderMark) && strings.HasPrefix(byteOrderMark, string(head)) {
		return FormOther, true
	}
	if head[0] == '{' || head[0] == '[' {
		return FormJSON, false
	}
	for _, field := range [...]string{"data:", "event:", "id:", "retry:", ":"} {
		if len(head) >= len(field) && string(head[:len(field)]) == field {
			return FormEvents, false
		}
		undecided = undecided || len(head) < len(field) && field[:len(head)] == string(head)
	}
	return FormOther, undecided
}

// TrimFront cuts byte order marks and white space off the front of a body.
func TrimFront(body []byte) []byte {
	if len(body) > 0 && body[0] > ' ' && body[0] < utf8.RuneSelf {
		return body // nearly always
	}
	return bytes.TrimLeft(body, byteOrderMark+blanks)
}

// IsPage reports whether a body begins as an HTML page does, such as the error page of a proxy.
func IsPage(body []byte) bool {
	body = TrimFront(body)
	for _, start := range [...]string{"<!doctype html", "<html"} {
		if len(body) >= len(start) && strings.EqualFold(string(body[:len(start)]), start) {
			return true
		}
	}
	return false
}

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
