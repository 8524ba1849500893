package sim

import (
	"iter"
	"slices"
	"time"
	"unicode/utf8"
)

// An event is one SSE event or gRPC message as a model without faults would
// send it.
type event struct {
	at     time.Duration // due, since the start of the request
	data   []byte        // with framing; good until the next event
	tokens int           // output tokens that it completes
	kind   eventKind
}

type eventKind int

// From eventBody on they are at the end of a stream, or all of it.
const (
	eventOutput  eventKind = iota + 1 // text, or the role that precedes it
	eventBody                         // a whole answer
	eventUsage                        // token counts
	eventDone                         // [DONE], the final response
	eventFault                        // what a fault put in
	eventComment                      // an SSE comment: no event for the client
)

// A write is one hand-over to the kernel, and what happens after it.
type write struct {
	at     time.Duration
	data   []byte // nil: nothing is written; good until the next write
	events int    // events that it completes
	tokens int    // tokens of these
	then   action
}

type action int

const (
	goOn     action = iota
	reset           // break the connection with a RST
	truncate        // end without the end of the protocol
	stall           // nothing more until the client goes
)

// A wire holds what faults need to know about a protocol.
type wire struct {
	sse     bool          // bytes can be cut and joined, and comments exist
	newline string        // of SSE
	failure func() []byte // an error in mid-stream
	garbage []byte        // an event that cannot be understood
}

// splitDelay is the time between the two writes of an event that is split:
// long enough that an idle client reads the first alone.
const splitDelay = 2 * time.Millisecond

// mergedEvents is how many events FaultMerged joins.
const mergedEvents = 3

// script turns events into writes, with the fault that strikes after so many
// tokens.
func script(events iter.Seq[event], fault Fault, after int, w wire) iter.Seq[write] {
	switch fault {
	case FaultNoDone, FaultErrorEvent, FaultGarbage, FaultComments:
		return singly(alter(events, fault, after, w))
	case FaultReset, FaultTruncate, FaultStall:
		return interrupted(events, fault, after, w)
	case FaultMerged:
		return joined(events, mergedEvents, w)
	case FaultOneshot:
		return joined(events, 0, w)
	case FaultSplit:
		if w.sse {
			return split(events)
		}
	}
	return singly(events)
}

// singly is one write per event.
func singly(events iter.Seq[event]) iter.Seq[write] {
	return func(yield func(write) bool) {
		for e := range events {
			if !yield(e.write()) {
				return
			}
		}
	}
}

func (e event) write() write {
	n := 1
	if e.kind == eventComment {
		n = 0
	}
	return write{at: e.at, data: e.data, events: n, tokens: e.tokens}
}

// alter adds, changes and drops events.
func alter(events iter.Seq[event], fault Fault, after int, w wire) iter.Seq[event] {
	return func(yield func(event) bool) {
		sent, n, struck := 0, 0, false
		var last time.Duration
		for e := range events {
			if fault == FaultErrorEvent && struck {
				e.at = last
			}
			due := !struck && (sent+e.tokens > after || e.kind >= eventBody)
			switch {
			case fault == FaultNoDone && e.kind == eventDone:
				continue
			case fault == FaultErrorEvent && struck && (e.kind != eventDone || !w.sse):
				continue
			case fault == FaultErrorEvent && due:
				struck, last = true, e.at
				if !yield(event{at: e.at, data: w.failure(), kind: eventFault}) {
					return
				}
				if e.kind != eventDone || !w.sse { // [DONE] comes after an error too
					continue
				}
			case fault == FaultGarbage && due && e.kind == eventBody:
				struck = true
				e.data = append(e.data[:len(e.data)/2:len(e.data)/2], w.garbage...)
			case fault == FaultGarbage && due:
				struck = true
				if !yield(event{at: e.at, data: w.garbage, kind: eventFault}) {
					return
				}
			case fault == FaultComments && w.sse && n%2 == 1 && e.kind != eventBody:
				c := event{at: e.at, data: []byte(": keep-alive" + w.newline + w.newline), kind: eventComment}
				if !yield(c) {
					return
				}
			}
			sent += e.tokens
			n++
			last = e.at
			if !yield(e) {
				return
			}
		}
		switch { // nothing marks the end of the stream, but it is the end
		case struck:
		case fault == FaultErrorEvent:
			yield(event{at: last, data: w.failure(), kind: eventFault})
		case fault == FaultGarbage:
			yield(event{at: last, data: w.garbage, kind: eventFault})
		}
	}
}

// interrupted ends the stream early.
func interrupted(events iter.Seq[event], fault Fault, after int, w wire) iter.Seq[write] {
	end := write{then: map[Fault]action{FaultReset: reset, FaultTruncate: truncate, FaultStall: stall}[fault]}
	return func(yield func(write) bool) {
		sent := 0
		for e := range events {
			if sent+e.tokens > after || e.kind >= eventBody {
				end.at = e.at
				if w.sse && (fault == FaultTruncate || e.kind == eventBody) {
					end.data = e.data[:len(e.data)/2]
				}
				break
			}
			sent += e.tokens
			end.at = e.at
			if !yield(e.write()) {
				return
			}
		}
		yield(end)
	}
}

// joined is one write for n events, 0 for all. A protocol whose messages cannot
// be joined gets them one right after the other.
func joined(events iter.Seq[event], n int, w wire) iter.Seq[write] {
	return func(yield func(write) bool) {
		var held []write
		flush := func() bool {
			if len(held) == 0 {
				return true
			}
			at := held[len(held)-1].at
			if w.sse {
				one := write{at: at}
				for _, h := range held {
					one.data = append(one.data, h.data...)
					one.events += h.events
					one.tokens += h.tokens
				}
				held = append(held[:0], one)
			}
			for _, h := range held {
				h.at = at
				if !yield(h) {
					return false
				}
			}
			held = held[:0]
			return true
		}
		for e := range events {
			h := e.write()
			h.data = slices.Clone(h.data)
			held = append(held, h)
			if len(held) == n && !flush() {
				return
			}
		}
		flush()
	}
}

// split is two writes per event.
func split(events iter.Seq[event]) iter.Seq[write] {
	return func(yield func(write) bool) {
		for e := range events {
			w := e.write()
			cut := len(e.data) / 2
			for i, b := range e.data {
				if b >= utf8.RuneSelf {
					cut = i + 1
					break
				}
			}
			first := write{at: w.at, data: w.data[:cut]}
			w.at, w.data = w.at+splitDelay, w.data[cut:]
			if !yield(first) || !yield(w) {
				return
			}
		}
	}
}
