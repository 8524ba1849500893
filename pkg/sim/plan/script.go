package plan

import (
	"iter"
	"slices"
	"time"
	"unicode/utf8"
)

// An Event is one SSE event or gRPC message of an answer without faults.
type Event struct {
	At     time.Duration // due time since the start of the request
	Data   []byte        // with framing; valid until the next event
	Tokens int           // output tokens that the event completes
	Kind   EventKind
}

// An EventKind tells faults what an event is.
type EventKind int

// The kinds of events. EventUsage and EventDone follow the output of a stream; EventBody is
// the only event of an answer that does not stream. Faults add the unexported kinds.
const (
	EventOutput  EventKind = iota + 1 // text, or the role before it
	EventBody                         // a whole answer
	EventUsage                        // token counts
	EventDone                         // [DONE], or the final response
	eventFault                        // inserted by a fault
	eventComment                      // an SSE comment, which clients do not see as an event
)

// A Chunk is the data of one write to the kernel, and the action that follows.
type Chunk struct {
	At     time.Duration // due time since the start of the request
	Data   []byte        // nil writes nothing; valid until the next chunk
	Events int           // events that the chunk completes
	Tokens int           // output tokens of these events
	Then   Action
}

// An Action follows a chunk.
type Action int

// The actions.
const (
	Continue Action = iota
	Reset           // break the connection with a RST
	Truncate        // close the connection without the end of the answer
	Stall           // send nothing more until the client goes away
)

// Framing holds what faults need to know about a protocol.
type Framing struct {
	SSE     bool          // bytes can be cut and joined, and comments exist
	Newline string        // line end of SSE
	Failure func() []byte // renders an error in mid-stream
	Garbage []byte        // an event that no client understands
	// ErrorEnds says that EventDone does not follow an error in mid-stream.
	ErrorEnds bool
}

// splitDelay is the time between the two writes of a split event, long enough for
// an idle client to read the first one alone.
const splitDelay = 2 * time.Millisecond

// mergedEvents is the number of events that FaultMerged joins.
const mergedEvents = 3

// Script turns events into chunks and applies the fault, which strikes at the event that
// would exceed after tokens.
func Script(events iter.Seq[Event], fault Fault, after int, f Framing) iter.Seq[Chunk] {
	switch fault {
	case FaultNoDone, FaultErrorEvent, FaultGarbage, FaultComments:
		return singly(alter(events, fault, after, f))
	case FaultReset, FaultTruncate, FaultStall:
		return interrupt(events, fault, after, f)
	case FaultMerged:
		return join(events, mergedEvents, f)
	case FaultOneshot:
		return join(events, 0, f)
	case FaultSplit:
		if f.SSE {
			return split(events)
		}
	}
	return singly(events)
}

// singly returns one chunk per event.
func singly(events iter.Seq[Event]) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		for e := range events {
			if !yield(e.chunk()) {
				return
			}
		}
	}
}

// chunk returns the event as a chunk of its own.
func (e Event) chunk() Chunk {
	n := 1
	if e.Kind == eventComment {
		n = 0
	}
	return Chunk{At: e.At, Data: e.Data, Events: n, Tokens: e.Tokens}
}

// alter adds, changes and drops events.
func alter(events iter.Seq[Event], fault Fault, after int, f Framing) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		sent, n, struck := 0, 0, false
		var last time.Duration
		for e := range events {
			if fault == FaultErrorEvent && struck {
				e.At = last
			}
			due := !struck && (sent+e.Tokens > after || e.Kind >= EventBody)
			switch {
			case fault == FaultNoDone && e.Kind == EventDone:
				continue
			case fault == FaultErrorEvent && struck && (e.Kind != EventDone || !f.SSE || f.ErrorEnds):
				continue
			case fault == FaultErrorEvent && due:
				struck, last = true, e.At
				if !yield(Event{At: e.At, Data: f.Failure(), Kind: eventFault}) {
					return
				}
				if e.Kind != EventDone || !f.SSE || f.ErrorEnds { // [DONE] comes after an error too
					continue
				}
			case fault == FaultGarbage && due && e.Kind == EventBody:
				struck = true
				e.Data = append(e.Data[:len(e.Data)/2:len(e.Data)/2], f.Garbage...)
			case fault == FaultGarbage && due:
				struck = true
				if !yield(Event{At: e.At, Data: f.Garbage, Kind: eventFault}) {
					return
				}
			case fault == FaultComments && f.SSE && n%2 == 1 && e.Kind != EventBody:
				c := Event{At: e.At, Data: []byte(": keep-alive" + f.Newline + f.Newline), Kind: eventComment}
				if !yield(c) {
					return
				}
			}
			sent += e.Tokens
			n++
			last = e.At
			if !yield(e) {
				return
			}
		}
		switch { // the stream ended without an event that marks its end
		case struck:
		case fault == FaultErrorEvent:
			yield(Event{At: last, Data: f.Failure(), Kind: eventFault})
		case fault == FaultGarbage:
			yield(Event{At: last, Data: f.Garbage, Kind: eventFault})
		}
	}
}

// interrupt ends the stream early.
func interrupt(events iter.Seq[Event], fault Fault, after int, f Framing) iter.Seq[Chunk] {
	end := Chunk{Then: map[Fault]Action{FaultReset: Reset, FaultTruncate: Truncate, FaultStall: Stall}[fault]}
	return func(yield func(Chunk) bool) {
		sent := 0
		for e := range events {
			if sent+e.Tokens > after || e.Kind >= EventBody {
				end.At = e.At
				if f.SSE && (fault == FaultTruncate || e.Kind == EventBody) {
					end.Data = e.Data[:len(e.Data)/2]
				}
				break
			}
			sent += e.Tokens
			end.At = e.At
			if !yield(e.chunk()) {
				return
			}
		}
		yield(end)
	}
}

// join returns one chunk for n events, or for all of them if n is 0. A protocol whose
// messages cannot be joined gets them in direct succession.
func join(events iter.Seq[Event], n int, f Framing) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		var held []Chunk
		flush := func() bool {
			if len(held) == 0 {
				return true
			}
			at := held[len(held)-1].At
			if f.SSE {
				one := Chunk{At: at}
				for _, h := range held {
					one.Data = append(one.Data, h.Data...)
					one.Events += h.Events
					one.Tokens += h.Tokens
				}
				held = append(held[:0], one)
			}
			for _, h := range held {
				h.At = at
				if !yield(h) {
					return false
				}
			}
			held = held[:0]
			return true
		}
		for e := range events {
			h := e.chunk()
			h.Data = slices.Clone(h.Data)
			held = append(held, h)
			if len(held) == n && !flush() {
				return
			}
		}
		flush()
	}
}

// split returns two chunks per event, cut inside a multi-byte character if there is
// one, else in the middle.
func split(events iter.Seq[Event]) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		for e := range events {
			c := e.chunk()
			cut := len(e.Data) / 2
			for i, b := range e.Data {
				if b >= utf8.RuneSelf {
					cut = i + 1
					break
				}
			}
			first := Chunk{At: c.At, Data: c.Data[:cut]}
			c.At, c.Data = c.At+splitDelay, c.Data[cut:]
			if !yield(first) || !yield(c) {
				return
			}
		}
	}
}
