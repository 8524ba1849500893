package openai

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An alike spares parsing the frames of a stream that differ from the one
// before in nothing but the text that they add, as most do:
//
//	data: {"id":"…","choices":[{"index":0,"delta":{"content":"  text  "}}]}
//	|---------------------- before ------------------------|      |-after-|
//
// A frame with the same bytes before and after its text, and a text that is
// ASCII without anything escaped, parses to the same chunk with another text.
type alike struct {
	before, after []byte // with the quotes; nil: unknown
}

// learn takes a frame that was parsed to c.
func (a *alike) learn(frame []byte, c *openai.Chunk) {
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
	a.before, a.after = frame[:from], frame[from+n:]
}

// text returns the text of a frame that is like the one learnt. ok is false
// when it is not, and has to be parsed.
func (a *alike) text(frame []byte) (text []byte, ok bool) {
	from, to := len(a.before), len(frame)-len(a.after)
	if from == 0 || to <= from || !bytes.Equal(frame[:from], a.before) || !bytes.Equal(frame[to:], a.after) {
		return nil, false
	}
	text = frame[from:to]
	return text, isPlain(text)
}

// within returns where part, which is not empty, lies in the memory of frame;
// -1: elsewhere, because it had to be unescaped, or too often to look on.
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

// isPlain reports whether b stands for itself between the quotes of JSON. It
// leaves all but ASCII to the parser.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
