package openai

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A deltaTemplate is a frame of a stream without its text. Most following frames differ
// only in their text, and need not be parsed:
//
//	data: {"id":"…","choices":[{"index":0,"delta":{"content":"  text  "}}]}
//	|---------------------- before ------------------------|      |-after-|
//
// A frame with the same bytes before and after its text, and a text of ASCII without
// escapes, parses to the same chunk with another text.
type deltaTemplate struct {
	before, after []byte // with the quotes; nil: unknown
}

// learn stores the bytes around the text of a frame, which was parsed to c.
func (t *deltaTemplate) learn(frame []byte, c *openai.Chunk) {
	if len(c.Choices) != 1 || c.Error != nil || c.Done || c.HasUsage {
		return
	}
	k := &c.Choices[0]
	n := len(k.Content)
	if n == 0 || len(k.Reasoning)+len(k.Refusal)+len(k.ToolCalls)+len(k.FinishReason)+k.TokenIDs != 0 {
		return
	}
	from := within(frame, k.Content)
	if from < 1 || from+n >= len(frame) || frame[from-1] != '"' || frame[from+n] != '"' || !isPlain(k.Content) {
		return
	}
	t.before, t.after = frame[:from], frame[from+n:]
}

// text returns the text of a frame that fits the template. ok is false if the frame does
// not fit and must be parsed.
func (t *deltaTemplate) text(frame []byte) (text []byte, ok bool) {
	from, to := len(t.before), len(frame)-len(t.after)
	if from == 0 || to <= from || !bytes.Equal(frame[:from], t.before) || !bytes.Equal(frame[to:], t.after) {
		return nil, false
	}
	text = frame[from:to]
	return text, isPlain(text)
}

// within returns the index of the non-empty slice part in the memory of frame. It returns
// -1 if part lies elsewhere, because it had to be unescaped, or if the same bytes occur
// too often before it.
func within(frame, part []byte) int {
	const most = 8 // "index":0 and the text "0", say
	at := 0
	for range most {
		i := bytes.Index(frame[at:], part)
		if i < 0 {
			return -1
		}
		if at += i; &frame[at] == &part[0] {
			return at
		}
		at++
	}
	return -1
}

// isPlain reports whether b is printable ASCII that JSON need not escape.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
