package py

import "strings"

// An EventKey is the text of an event of an OpenAI server without its id and its time of creation, which
// differ from answer to answer. Programs that read neither find the same in all events with the same key, if they
// find something.
//
//	data: {"id":"cmpl-1","object":"text_completion","created":1718000000,"model":"m", …
//	|- start -|  id   |---------- middle ----------|          |- rest
//
// A text that does not begin like this is all rest.
type EventKey struct{ start, middle, rest string }

// maxDigits bounds the digits of the time of creation.
const maxDigits = 18

// EventKeyOf returns the key of the text of an event. The key holds parts of the text.
func EventKeyOf(text string) EventKey {
	k := EventKey{rest: text}
	start := len(`data: {"id":"`)
	if !strings.HasPrefix(text, `data: {"id":"`) {
		start = len(`{"id":"`)
		if !strings.HasPrefix(text, `{"id":"`) {
			return k
		}
	}
	id := plainASCII(text, start)
	object := id + len(`","object":"`)
	if !strings.HasPrefix(text[id:], `","object":"`) {
		return k
	}
	end := plainASCII(text, object)
	created := end + len(`","created":`)
	if !strings.HasPrefix(text[end:], `","created":`) {
		return k
	}
	rest := created
	for rest < len(text) && '0' <= text[rest] && text[rest] <= '9' {
		rest++
	}
	if n := rest - created; n == 0 || n > maxDigits || text[created] == '0' || rest == len(text) || text[rest] != ',' {
		return k
	}
	return EventKey{text[:start], text[id:created], text[rest:]}
}

// plainASCII returns the index of the first byte of text from i on that a JSON string does not hold as it is, or
// that is not ASCII.
func plainASCII(text string, i int) int {
	for i < len(text) && ' ' <= text[i] && text[i] < 0x7f && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}
