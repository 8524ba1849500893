package answer

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// An envelopeFrame is an [export.Envelope] that makes whole frames of texts, each a token event
// with this text.
type envelopeFrame struct {
	envelope *export.Envelope
	pattern  *openai.Pattern // nil: its values are not such frames
	added    bool            // the stream of the present request has the pattern's chunk
}

// envelopes holds what is known about the envelopes of responses. An envelope holds for many
// responses, so each is parsed once.
type envelopes struct {
	known []envelopeFrame
	last  int // index in known that was used last
	next  int // index in known to use for the next envelope
}

const (
	mostEnvelopes = 8
	maxInEnvelope = 1 << 20 // bytes of a text; the splitter refuses long frames
)

// reset prepares for another request.
func (e *envelopes) reset() {
	for i := range e.known {
		e.known[i].added = false
	}
}

// frame returns the envelope of v if v is a whole frame that adds the text v.Data; else nil.
func (e *envelopes) frame(v *export.Value) *envelopeFrame {
	if v.Envelope == nil || len(v.Data) == 0 || len(v.Data) > maxInEnvelope {
		return nil
	}
	if e.last >= len(e.known) || e.known[e.last].envelope != v.Envelope {
		e.last = slices.IndexFunc(e.known, func(f envelopeFrame) bool { return f.envelope == v.Envelope })
		if e.last < 0 {
			e.last = e.learn(v)
		}
	}
	if f := &e.known[e.last]; f.pattern != nil {
		return f
	}
	return nil
}

// learn adds the envelope of v and returns its index.
func (e *envelopes) learn(v *export.Value) int {
	f := envelopeFrame{envelope: v.Envelope}
	if isFrame(v.Bytes()) {
		f.pattern = openai.FindPattern(v.Envelope.Front, v.Data, v.Envelope.Back)
	}
	if len(e.known) < mostEnvelopes {
		e.known = append(e.known, f)
		return len(e.known) - 1
	}
	at := e.next
	e.known[at], e.next = f, (at+1)%mostEnvelopes
	return at
}

// isFrame reports whether b is exactly one frame. If it is, then so is b with another text
// without line endings in place of one that is not empty.
func isFrame(b []byte) bool {
	var s sse.Splitter
	s.Feed(b)
	return s.Next() && len(s.Frame()) == len(b) && !s.Next() && s.AtStart()
}

// add adds the token event of response at, a frame of f around text.
func (h *httpDecoder) add(d *Decoder, at int, f *envelopeFrame, text []byte) {
	c := &f.pattern.Chunk
	if !f.added {
		h.stream.Add(c)
		f.added = true
	} else {
		h.stream.AddAgain()
	}
	h.known = true
	if n := c.Choices[0].TokenIDs; n > 0 && h.ids >= 0 {
		h.ids += int64(n)
	} else {
		h.ids = -1
	}
	h.counted = false // a pattern has no usage
	h.carried.add(len(d.a.Events) == 0, f.pattern.Reasoning, len(c.Choices[0].ToolCalls) > 0, len(text))
	d.add(at, c.Choices[0].Index, f.pattern.Reasoning, text)
}
