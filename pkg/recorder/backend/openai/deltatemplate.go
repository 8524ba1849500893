package openai

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A deltaTemplate is the frame of a stream around its text. It saves the parsing of
// the next frames when they differ from that frame in their text only, as most do:
//
//	data: {"id":"…","choices":[{"index":0,"delta":{"content":"  text  "}}]}
//	|---------------------- before ------------------------|      |-after-|
//
// A frame with the same bytes before and after its text, and a text that is
// ASCII without anything escaped, parses to the same chunk with another text.
type deltaTemplate struct {
	before, after []byte // with the quotes; nil: unknown
}

// learn takes the bytes around the text of a frame that was parsed to c.
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

// text returns the text of a frame that fits the template. ok is false when the
// frame does not fit, and has to be parsed.
func (t *deltaTemplate) text(frame []byte) (text []byte, ok bool) {
	from, to := len(t.before), len(frame)-len(t.after)
	if from == 0 || to <= from || !bytes.Equal(frame[:from], t.before) || !bytes.Equal(frame[to:], t.after) {
		return nil, false
	}
	text = frame[from:to]
	return text, isPlain(text)
}

// within returns the index at which part, which is not empty, lies in the memory of
// frame. It returns -1 when part lies elsewhere, because it had to be unescaped, or
// when the same bytes occur too often before it.
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
