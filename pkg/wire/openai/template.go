package openai

import (
	"bytes"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A template is a frame whose chunk is known. A frame that differs from it only in the text of
// its choice has the same chunk but for that text, because the text is the inside of a JSON
// string: without quotes, backslashes and control characters it changes nothing around it.
// Frames of one answer differ so, and comparing is faster than parsing.
type template struct {
	frame       []byte
	front, back []byte // of frame, around the text
	chunk       Chunk  // of frame; aliases it
	reasoning   bool   // the text is the choice's reasoning, not its content
	attempts    jsonscan.Attempts
}

// maxTemplate bounds the bytes of a frame that becomes a template.
const maxTemplate = 4096

// apply sets c to the chunk of a frame that follows the template, and reports whether it does.
func (t *template) apply(frame []byte, c *Chunk) bool {
	if len(t.front) == 0 || len(frame) <= len(t.front)+len(t.back) || !bytes.HasPrefix(frame, t.front) || !bytes.HasSuffix(frame, t.back) {
		return false
	}
	end := len(frame) - len(t.back)
	text := frame[len(t.front):end:end]
	if !jsonscan.IsPlain(text) {
		return false
	}
	t.attempts.Used()
	choices, w, details, native := c.Choices[:0], c.walker, c.details, c.native
	choices = append(choices, t.chunk.Choices[0])
	*c = t.chunk
	c.Choices, c.details, c.native, c.walker, c.template, c.framed = choices, details, native, w, t, true
	if t.reasoning {
		choices[0].Reasoning = text
	} else {
		choices[0].Content = text
	}
	return true
}

// learn makes a template of a frame, if its chunk c is of the kind that has one.
func (t *template) learn(frame []byte, c *Chunk) {
	if len(frame) > maxTemplate || len(c.Choices) != 1 || c.HasUsage || c.Server != nil || c.Repeats != RepeatsNothing || c.Error != nil || c.mayBeError() {
		return
	}
	if c.Messages != NotMessages && c.Messages != BlockDelta || c.part.kind != noPart || c.piece.done { // has the text twice
		return
	}
	q := &c.Choices[0]
	if q.soFar || len(q.Refusal)+len(q.ToolCalls)+len(q.FinishReason)+len(q.message)+len(q.calls) > 0 || len(q.Content) > 0 == (len(q.Reasoning) > 0) {
		return
	}
	text := q.Content
	if len(text) == 0 {
		text = q.Reasoning
	}
	from := inside(frame, text)
	if from < 0 || !t.attempts.Try() {
		return
	}
	t.frame = append(t.frame[:0], frame...)
	t.front, t.back, t.reasoning = t.frame[:from], t.frame[from+len(text):], len(q.Content) == 0
	if parseFrame(t.frame, &t.chunk) != nil {
		t.front = nil // cannot be: it is the frame of c
	}
}

// inside returns where text begins if it is the whole inside of a string of the frame, and
// not a copy; else -1.
func inside(frame, text []byte) int {
	for at := 0; ; at++ {
		i := bytes.Index(frame[at:], text)
		if i < 0 {
			return -1
		}
		at += i
		if &frame[at] != &text[0] {
			continue
		}
		if end := at + len(text); at == 0 || frame[at-1] != '"' || end == len(frame) || frame[end] != '"' {
			return -1
		}
		return at
	}
}

// A Pattern describes the frames that consist of a front, a text and a back, for every text
// that is not empty and has no quote, backslash or control character.
type Pattern struct {
	// Chunk is the chunk of one of these frames. The chunks of the others differ from it only
	// in the text of the only choice.
	Chunk Chunk
	// Reasoning says that the text is the choice's Reasoning; else it is its Content.
	Reasoning bool
}

// FindPattern returns the Pattern of the frames of front and back, which has text as one of
// the texts; nil if there is none. It keeps no reference to its arguments.
func FindPattern(front, text, back []byte) *Pattern {
	if len(text) == 0 || !jsonscan.IsPlain(text) {
		return nil
	}
	frame := slices.Concat(front, text, back)
	var c Chunk
	if parseFrame(frame, &c) != nil {
		return nil
	}
	var t template
	if t.learn(frame, &c); len(t.front) == 0 || len(t.front) != len(front) || len(t.back) != len(back) {
		return nil
	}
	t.chunk.native = nil // a Pattern is used by several goroutines
	return &Pattern{Chunk: t.chunk, Reasoning: t.reasoning}
}
