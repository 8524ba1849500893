package answer

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An Event is a response, or a part of one, that added output to a choice.
type Event struct {
	Response int    // index of the response that completed it
	RecvNS   uint64 // of that response
	Choice   int
	// Reasoning is set when the event added reasoning text and no answer.
	Reasoning bool
	// BlockStart is set when the event is a content_block_start of Anthropic Messages, which other tools do not time. Events
	// from the columns of a file do not have it.
	BlockStart bool

	// Prev is the index of the previous event of the same choice; −1 for the first.
	Prev int
	// Tokens is the number of tokens that the server counted since the previous event of the
	// choice, this event included. It is valid if Answer.EventTokens is set.
	Tokens int32
}

// Usage holds the token counts that the server gave. Cached is missing unless the server stated it, be it 0.
type Usage struct {
	Input, Output, Reasoning, Cached export.Int
}

// An Answer holds the content of the responses to one request.
type Answer struct {
	// Events are the token events in order of arrival; nil in an answer from the columns of a
	// file whose responses were left out.
	Events []Event
	Usage  Usage
	// Written is Usage as the server wrote it, with the counts of 0 that Usage leaves out because they cannot be true, and
	// WrittenTotal its total_tokens. Both are empty if the answer was not decoded from HTTP.
	Written      Usage
	WrittenTotal export.Int
	// EventTokens says that the Tokens of all Events are known: the usage of the server stands in
	// each chunk with an event.
	EventTokens bool
	// Timed is the number of output tokens after the first token event, by the server's count: the
	// tokens that came in the time from the first event to the last. It is missing if it is
	// Usage.Output − 1, and if Untimed is set.
	Timed export.Int
	// Untimed says that the server counts tokens that no event carried, because it hid them or held
	// them back, and that their number is not known.
	Untimed bool
	// Hidden is the number of output tokens that the server counts before the first token event and
	// did not send. It is missing if no token is known to be hidden.
	Hidden export.Int
	// Server is what the server states about the request.
	Server export.ServerDetails
	// Images are the images of the answer, from an endpoint that makes them. FirstImage is the index of the response with the
	// first image of a stream, partial or finished; it is missing if there is none.
	Images     openai.Images
	FirstImage export.Int
	// Failure is the error that the server sent in the stream; "" for none.
	Failure string
	// Audio are the pieces of audio in order of arrival, and AudioHead the first bytes of all of them together.
	Audio     []AudioPiece
	AudioHead []byte
	Content
	// shape says whether the answer has the form of a stream or of a whole body.
	shape Streamed

	choices []choice
	// ids is the number of the token ids of all events; missing unless each event has some.
	ids export.Int
	// stored says whether the answer was streamed, in an answer from the columns of a
	// file; nil in one that was decoded.
	stored *Streamed
	// counted is the number of output tokens that the tokenizer counted, in an answer from
	// the columns of a file.
	counted export.Int
	// brief holds the times of the token events, in an answer from the columns of a file whose
	// responses were left out; else nil.
	brief *export.Derived
}

// Content says what the file holds of an answer.
type Content struct {
	// Assumed says that the file holds no outputs, so that every response counts as a
	// token event.
	Assumed bool
	// Dropped says that the recorder left the outputs out. There are no Events then,
	// because nothing shows which responses were tokens.
	Dropped bool
	// Numbers says that the answer is of an endpoint whose answers hold no tokens: see [openai.Numbers].
	Numbers bool
	// Unreadable counts events and bodies that break the protocol.
	Unreadable int
}

// numEvents returns the number of token events.
func (a *Answer) numEvents() int {
	if a.brief != nil {
		return int(a.brief.ITLEvents.V)
	}
	return len(a.Events)
}

// FirstTokenNS returns the time of the first token event of a, the answer to r; ok is false if
// there is none.
func (a *Answer) FirstTokenNS(r *export.Request) (ns uint64, ok bool) {
	switch {
	case a.numEvents() == 0:
		return 0, false
	case a.brief != nil:
		return r.StartNS + uint64(a.brief.TTFT.V), true
	}
	return a.Events[0].RecvNS, true
}

// firstAnswerNS returns the time of the first event of the answer after an event of reasoning; ok is false if the
// request did not reason, or did not answer.
func (a *Answer) firstAnswerNS(r *export.Request) (ns uint64, ok bool) {
	if a.brief != nil {
		return r.StartNS + uint64(a.brief.TTFAT.V), a.brief.TTFAT.OK
	}
	reasoned := false
	for i := range a.Events {
		e := &a.Events[i]
		if reasoned && !e.Reasoning {
			return e.RecvNS, true
		}
		reasoned = reasoned || e.Reasoning
	}
	return 0, false
}

// A choice is one of the answers to a request: choices[].index for OpenAI,
// sequence_index for TensorRT-LLM.
type choice struct {
	index int
	last  int    // index of its last event
	usage int64  // tokens of the choice, as the server counted them at its last event
	text  []byte // all its text, if Decoder.KeepText is set
}

// A Decoder finds the token events of requests. It keeps buffers between
// requests; the zero value works for files that do not name their service.
//
// A Decoder is for one goroutine.
type Decoder struct {
	// ServiceKind is the export's: "openai", "triton" or "".
	ServiceKind string
	// Numbers says that answers are embeddings, audio or other answers of [openai.Numbers]. They hold no tokens, and the
	// server's count of output tokens is ignored.
	Numbers bool
	// images says that answers are images, in which case Numbers is set, too.
	images bool
	// Audio says which of the audio endpoints answered.
	Audio openai.AudioEndpoint
	// KeepText makes it join the texts of each choice, for a TokenCounter.
	KeepText bool

	a         Answer
	responses []export.Response // of the request
	http      httpDecoder
	tensor    tensorDecoder
}

// NewDecoder returns a Decoder for the requests of run.
func NewDecoder(run *export.Run, keepText bool) Decoder {
	d := Decoder{KeepText: keepText, ServiceKind: export.TextOf(run.ServiceKind)}
	if run.Endpoint != nil {
		var what string
		what, d.Numbers = openai.Numbers(*run.Endpoint)
		d.images = what == openai.ImageAnswers
		d.Audio = openai.AudioOf(*run.Endpoint)
	}
	return d
}

// Decode reads the responses of r. The Answer is valid until the next call.
func (d *Decoder) Decode(r *export.Request) *Answer {
	d.a = Answer{Events: d.a.Events[:0], choices: d.a.choices[:0], Audio: d.a.Audio[:0], AudioHead: d.a.AudioHead[:0]}
	d.responses = r.Responses
	switch {
	case r.OutputsDropped:
		d.a.Dropped = true
	case withoutOutputs(r):
		d.assume(r)
	case d.isHTTP(r):
		d.http.decode(d, r)
	default:
		d.tensor.reset()
		for i := range r.Responses {
			p := &r.Responses[i]
			d.tensor.add(i, p.Outputs.Joined(), p.Error)
		}
		d.tensor.decode(d)
	}
	if d.Numbers {
		d.a.Events, d.a.choices = d.a.Events[:0], d.a.choices[:0]
		d.a.Usage.Output, d.a.Usage.Reasoning = export.Int{}, export.Int{}
		d.a.Numbers = true
	}
	return &d.a
}

// add records a token event that the response with index at completed.
func (d *Decoder) add(at, index int, reasoning bool, text []byte) {
	c := d.choice(index)
	d.a.Events = append(d.a.Events, Event{Response: at, RecvNS: d.responses[at].RecvNS, Choice: index, Reasoning: reasoning, Prev: c.last})
	c.last = len(d.a.Events) - 1
	if d.KeepText {
		c.text = append(c.text, text...)
	}
}

// choice finds or makes the state of a choice. There are few: a search beats a
// map.
func (d *Decoder) choice(index int) *choice {
	for i := range d.a.choices {
		if d.a.choices[i].index == index {
			return &d.a.choices[i]
		}
	}
	n := len(d.a.choices)
	d.a.choices = slices.Grow(d.a.choices, 1)[:n+1]
	c := &d.a.choices[n]
	text := c.text[:0] // memory of an earlier answer
	if cap(text) > maxKeptText {
		text = nil
	}
	*c = choice{index: index, last: -1, text: text}
	return c
}

// maxKeptText bounds the memory for the text of a choice that is kept for later answers, in bytes.
const maxKeptText = 1 << 20

// assume counts each response as a token event, except errors, a response that pa-record
// marked as the end of the stream, and responses that another tool's file marks as
// silent.
func (d *Decoder) assume(r *export.Request) {
	d.a.Assumed = len(r.Responses) > 0 && r.Stated == nil
	silent := r.Stated.IsSilent()
	for i := range r.Responses {
		p := &r.Responses[i]
		if p.Error || r.HasMeta && p.Final && i > 0 || silent(i) {
			continue
		}
		d.add(i, 0, false, nil)
	}
}

// withoutOutputs reports whether r has no outputs at all, as in exports before 24.03 and
// in runs recorded without outputs.
func withoutOutputs(r *export.Request) bool {
	if r.NoOutputs {
		return true
	}
	for i := range r.Responses {
		if len(r.Responses[i].Outputs) > 0 {
			return false
		}
	}
	return true
}
