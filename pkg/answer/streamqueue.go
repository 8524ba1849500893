package answer

import "slices"

// mostHeld is the largest number of requests that a [StreamQueue] holds back.
const mostHeld = 10_000

// A StreamQueue decides whether requests were streamed whose answers do not show it, before anyone uses their
// measures. A request of one response counts as streamed if another request of its level has several responses and
// is streamed.
//
// The queue holds requests back until such a request comes, until the end, or until it holds mostHeld requests. Then
// the oldest level without such a request is decided: its requests of one response stay [StreamedUnknown]. The queue
// keeps the order of the requests, so it also holds the requests that come after one that it holds. The files of
// pa-record say for each run whether it was streamed: the queue holds none of their requests.
//
//	queue := answer.NewStreamQueue(use)
//	for … {
//		if q := meter.Measure(r); queue.Pass(level, q) {
//			use(level, itemOf(r, q))
//		} else {
//			queue.Hold(level, q, func() item { return itemOf(r, q) })
//		}
//	}
//	queue.End()
type StreamQueue[T any] struct {
	use    func(level int, item T)
	held   []heldRequest[T]
	used   int // held requests, from the first one on, that were used and do not wait any more
	levels []levelStream
}

// A heldRequest is a request that waits. streamed is the item if its level turns out to be streamed; nil if that
// makes no difference.
type heldRequest[T any] struct {
	level    int
	item     T
	streamed *T
}

// A levelStream is what is known of a level.
type levelStream struct {
	// answer is what its StreamedUnknown requests are.
	answer Streamed
	// decided says that answer does not change any more.
	decided bool
	// several says that a streamed request had several responses.
	several bool
}

// NewStreamQueue returns an empty queue that passes the items of held requests to use, in the order of Hold.
func NewStreamQueue[T any](use func(level int, item T)) *StreamQueue[T] {
	return &StreamQueue[T]{use: use}
}

// Pass takes the next measured request, of a level from 0. It returns true if the caller can use the request now; its
// measures are then final. Pass uses the held requests before it returns, as far as m decides about them. If it
// returns false, the caller must call Hold.
func (q *StreamQueue[T]) Pass(level int, m *Measured) bool {
	l := q.level(level)
	if m.stream.shows && !l.several {
		l.several = true
		if !l.decided {
			l.answer, l.decided = StreamedYes, true
			q.useDecided()
		}
	}
	if q.used < len(q.held) || m.stream.undecided && !l.decided {
		return false
	}
	if m.stream.undecided && l.answer == StreamedYes {
		m.asStreamed()
	}
	return true
}

// Hold keeps the item of a request that may not pass yet. It calls item at once: a second time with the measures of a
// streamed request in m, if the level may be streamed. An item must stay valid until it is used.
func (q *StreamQueue[T]) Hold(level int, m *Measured, item func() T) {
	h := heldRequest[T]{level: level, item: item()}
	if m.stream.undecided {
		m.asStreamed()
		streamed := item()
		h.streamed = &streamed
	}
	if q.held = append(q.held, h); len(q.held)-q.used >= mostHeld {
		q.levels[q.held[q.used].level].decided = true
		q.useDecided()
	}
}

// End uses all requests that are still held. No request may come after it.
func (q *StreamQueue[T]) End() {
	for i := range q.levels {
		q.levels[i].decided = true
	}
	q.useDecided()
}

// SeveralResponses reports whether a streamed request of a level had several responses.
func (q *StreamQueue[T]) SeveralResponses(level int) bool { return q.level(level).several }

// level returns what is known of a level.
func (q *StreamQueue[T]) level(i int) *levelStream {
	if missing := i + 1 - len(q.levels); missing > 0 {
		q.levels = append(q.levels, make([]levelStream, missing)...)
	}
	return &q.levels[i]
}

// useDecided uses the held requests up to the first one whose level is not decided.
func (q *StreamQueue[T]) useDecided() {
	for ; q.used < len(q.held); q.used++ {
		h := &q.held[q.used]
		l := &q.levels[h.level]
		if h.streamed != nil && !l.decided {
			break
		}
		if h.streamed != nil && l.answer == StreamedYes {
			q.use(h.level, *h.streamed)
		} else {
			q.use(h.level, h.item)
		}
		*h = heldRequest[T]{} // its memory is no longer needed
	}
	// Moving the others once for many that were used keeps the time linear, also if each request has a level of its own.
	if q.used == len(q.held) || q.used >= mostHeld {
		q.held = slices.Delete(q.held, 0, q.used)
		q.used = 0
	}
}
