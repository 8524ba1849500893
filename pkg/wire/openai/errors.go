package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/wire/sse"
)

// An Error is a server's report instead of an answer. Code is text because servers send
// numbers and names.
type Error struct {
	Message string
	Type    string
	Code    string
}

// Error returns the message or, without one, type and code.
func (e *Error) Error() string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Type != "" && e.Code != "":
		return e.Type + " " + e.Code
	case e.Type != "" || e.Code != "":
		return e.Type + e.Code
	}
	return "the server reports an error without a message"
}

// maxMessageBytes bounds the messages of this package.
const maxMessageBytes = 512

// ParseError returns the error that an answer with an HTTP status of 400 and above holds,
// as one line of at most maxMessageBytes: the message of any of the JSON shapes that
// servers use, the title of an HTML page, the text of anything else. For an empty body it
// returns the name of the status.
func ParseError(status int, contentType string, body []byte) string {
	text := errorText(body)
	if list := []json.RawMessage{}; len(text) > 0 && text[0] == '[' && json.Unmarshal(text, &list) == nil && len(list) == 1 {
		text = list[0]
	}
	if len(text) > 0 && text[0] == '{' {
		if e := findAnyError(text); e != nil {
			return e.Error()
		}
	}
	if strings.Contains(contentType, "html") || looksLikeHTML(text) {
		if t := htmlText(text); t != "" {
			return t
		}
	}
	if t := OneLine(text); t != "" && !strings.Contains(contentType, "html") {
		return t
	}
	if t := StatusText(status); t != "" {
		return t
	}
	return "no message"
}

// errorText returns the text of the body of an answer with an error status.
func errorText(body []byte) []byte {
	text := bytes.TrimSpace(body)
	var split sse.Splitter
	if split.Feed(append(text[:len(text):len(text)], "\n\n"...)); split.Next() {
		if e := sse.Parse(split.Frame()); e.HasData { // an event in spite of the status
			text = bytes.TrimSpace(e.Data)
		}
	}
	return text
}

// findError returns the error in a JSON object that came with status 200; nil if there is
// none.
//
//	{"error":{"message":…,"type":…,"code":…}}       most
//	{"error":"text","error_type":…}                 TGI, Ollama
//	{"object":"error","message":…,"type":…,"code":…}  vLLM before 0.9
//	{"detail":"text"} {"detail":[{"loc":…,"msg":…}]}  FastAPI
//	{"type":"error","message":…,"code":…}           OpenAI, v1/responses
//	{"error":{"code":…,"message":…,"status":…}}      Gemini, also as the element of an array
func findError(body []byte) *Error { return searchError(body, false) }

// findAnyError is findError for an error status or an event named "error": a "message"
// alone, as gateways send it, is an error too.
func findAnyError(body []byte) *Error { return searchError(body, true) }

func searchError(body []byte, known bool) *Error {
	var v struct {
		Object    any             `json:"object"`
		Error     json.RawMessage `json:"error"`
		ErrorType json.RawMessage `json:"error_type"`
		Detail    json.RawMessage `json:"detail"`
		Message   json.RawMessage `json:"message"`
		Type      json.RawMessage `json:"type"`
		Code      json.RawMessage `json:"code"`
	}
	if json.Unmarshal(body, &v) != nil {
		return nil
	}
	if e := errorValue(v.Error); e != nil {
		if e.Type == "" {
			e.Type = jsonText(v.ErrorType)
		}
		return e
	}
	e := &Error{Message: detailText(v.Detail)}
	if known || v.Object == any("error") || string(v.Type) == `"error"` {
		*e = Error{Message: jsonText(v.Message), Type: jsonText(v.Type), Code: jsonText(v.Code)}
		if e.Message == "" {
			e.Message = detailText(v.Detail)
		}
	}
	if e.Message == "" {
		return nil
	}
	return e
}

// errorValue reads the value of an "error" member. null, false, "" and {} mean no error.
func errorValue(raw []byte) *Error {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", `""`, "{}":
		return nil
	}
	var v struct {
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    json.RawMessage `json:"type"`
		Status  json.RawMessage `json:"status"` // Gemini
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(raw, &v) != nil { // not an object
		return &Error{Message: jsonText(raw)}
	}
	e := &Error{Message: jsonText(v.Message), Type: jsonText(v.Type), Code: jsonText(v.Code)}
	if e.Message == "" {
		e.Message = detailText(v.Detail)
	}
	if e.Type == "" {
		e.Type = jsonText(v.Status)
	}
	if *e == (Error{}) {
		e.Message = jsonText(raw)
	}
	return e
}

// detailText reads FastAPI's "detail": a text, or a list of mistakes in the request, each
// with its place.
func detailText(raw json.RawMessage) string {
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 || list[0].Msg == "" {
		return jsonText(raw)
	}
	var all []string
	for _, d := range list {
		var loc []string
		for _, l := range d.Loc {
			loc = append(loc, fmt.Sprint(l))
		}
		all = append(all, strings.TrimPrefix(strings.Join(loc, ".")+": "+d.Msg, ": "))
	}
	return OneLine([]byte(strings.Join(all, "; ")))
}

// jsonText returns a JSON value as one line: the content of a string, the text
// of anything else, "" for null and nothing.
func jsonText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return OneLine([]byte(s))
	}
	return OneLine(raw)
}

func looksLikeHTML(b []byte) bool {
	head := bytes.ToLower(b[:min(len(b), 64)])
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// htmlText returns the title of a page or else its heading.
func htmlText(page []byte) string {
	page = page[:min(len(page), 64<<10)]
	lower := bytes.ToLower(page)
	if len(lower) != len(page) { // characters whose cases differ in length
		page = lower
	}
	for _, tag := range []string{"title", "h1"} {
		i := bytes.Index(lower, []byte("<"+tag))
		if i < 0 {
			continue
		}
		j := bytes.IndexByte(lower[i:], '>')
		if j < 0 {
			continue
		}
		from := i + j + 1
		n := bytes.Index(lower[from:], []byte("</"+tag))
		if n < 0 {
			continue
		}
		if t := OneLine(page[from : from+n]); t != "" {
			return t
		}
	}
	return ""
}

// OneLine returns b as one line of at most maxMessageBytes. White space and control
// characters become single spaces, bytes that are not UTF-8 become U+FFFD.
func OneLine(b []byte) string {
	const ellipsis = "…"
	var out strings.Builder
	space := false
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = out.Len() > 0
			continue
		}
		if out.Len()+utf8.RuneLen(r)+1 > maxMessageBytes-len(ellipsis) {
			out.WriteString(ellipsis)
			break
		}
		if space {
			out.WriteByte(' ')
			space = false
		}
		out.WriteRune(r)
	}
	return out.String()
}
