package backend

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// Bounds of what one answer may take in memory.
const (
	// DefaultAnswerMemory is the usual limit, in bytes.
	DefaultAnswerMemory = 64 << 20
	// EventMemory is what an event counts beside its bytes: its row in memory,
	// what is made of it when it is decoded and written, and what the garbage
	// collector leaves lying meanwhile. An event that is only counted takes none
	// of that; it counts the same, because a flood of them takes the time of the
	// other streams.
	EventMemory = 256
	// RecordedEmptyEvents is how many comments and empty events of an answer
	// become responses. Later ones are only counted.
	RecordedEmptyEvents = 1000
)

// What is kept of the events of an answer that exceeded its memory, to show
// what the server sent.
const (
	keptEvents     = 16
	keptEventBytes = 64 << 10
)

// An AnswerMemoryError says that an answer exceeded its memory.
type AnswerMemoryError struct{ LimitBytes int64 }

func (e *AnswerMemoryError) Error() string {
	return fmt.Sprintf("the answer exceeds its memory budget of %d bytes; --max-answer-memory raises it", e.LimitBytes)
}

// An AnswerMemory counts what one answer takes in memory. Begin makes it ready
// for an answer.
type AnswerMemory struct {
	limit, left int64
	empty       int // comments and empty events
}

// Begin starts the count for an answer that may take limit bytes.
func (m *AnswerMemory) Begin(limit int64) { *m = AnswerMemory{limit: limit, left: limit} }

// Take counts n bytes that were received, whatever becomes of them, so that an
// endless answer ends. The error is an *AnswerMemoryError.
func (m *AnswerMemory) Take(n int) error {
	if m.left -= int64(n); m.left < 0 {
		return &AnswerMemoryError{m.limit}
	}
	return nil
}

// Event counts an event that is about to become a response of r. record is
// false when it must not: there were many empty ones before, and r now counts
// it. The error is an *AnswerMemoryError.
func (m *AnswerMemory) Event(r *export.Request, empty bool) (record bool, err error) {
	record = true
	if empty {
		if m.empty++; m.empty > RecordedEmptyEvents {
			r.UnrecordedEvents++
			record = false
		}
	}
	return record, m.Take(EventMemory)
}

// YieldBytes is how much of an answer a goroutine takes at a stretch before it
// lets others run. One that always finds more would keep the time of reading of
// other streams up to the next preemption, 10 ms later.
const YieldBytes = 16 << 10

// Cut frees the memory of the responses of an answer that exceeded its limit.
// The first few small ones stay, to show what the server sent; the others are
// counted.
func (x *Exchange) Cut() {
	r := &x.Request
	n, size := 0, 0
	for n < min(keptEvents, len(r.Responses), len(x.Raw)) && size+len(x.Raw[n]) <= keptEventBytes {
		size += len(x.Raw[n])
		n++
	}
	r.UnrecordedEvents += len(r.Responses) - n
	r.Responses = append([]export.Response(nil), r.Responses[:n]...)
	raw := make([][]byte, n)
	for i := range raw {
		raw[i] = append([]byte(nil), x.Raw[i]...) // it shares its memory with others
	}
	x.Raw = raw
}
