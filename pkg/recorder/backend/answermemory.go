package backend

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// Limits on the memory of one answer.
const (
	// DefaultAnswerMemory is the default limit, in bytes.
	DefaultAnswerMemory = 64 << 20
	// EventMemory is the number of bytes that an event counts besides its own: its
	// row, its decoded and written forms, and garbage that is not collected yet. An
	// event that is only counted needs no such memory, but counts the same, because
	// a flood of such events delays the other streams.
	EventMemory = 256
	// RecordedEmptyEvents is the number of comments and empty events of an answer
	// that become responses. Later ones are only counted.
	RecordedEmptyEvents = 1000
)

// Limits on the events that are kept of an answer that exceeded its memory. They show the
// server's answer.
const (
	keptEvents     = 16
	keptEventBytes = 64 << 10
)

// An AnswerMemoryError reports that an answer exceeded its memory limit.
type AnswerMemoryError struct{ LimitBytes int64 }

func (e *AnswerMemoryError) Error() string {
	return fmt.Sprintf("the answer exceeds its memory budget of %d bytes; --max-answer-memory raises it", e.LimitBytes)
}

// An AnswerMemory counts the memory of one answer. Begin prepares it for an answer.
type AnswerMemory struct {
	limit, left int64
	empty       int // comments and empty events
}

// Begin starts the count for an answer that may take limit bytes.
func (m *AnswerMemory) Begin(limit int64) { *m = AnswerMemory{limit: limit, left: limit} }

// Take counts n received bytes, even if they are not kept, so that an endless answer
// ends. It returns an *AnswerMemoryError if the answer exceeds the limit.
func (m *AnswerMemory) Take(n int) error {
	if m.left -= int64(n); m.left < 0 {
		return &AnswerMemoryError{m.limit}
	}
	return nil
}

// Event counts an event that is about to become a response of r. record is false if
// the event must not become one because RecordedEmptyEvents empty events came
// before; Event then counts it in r. The error is an *AnswerMemoryError.
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

// YieldBytes is the number of bytes of an answer that a goroutine processes before
// it lets others run. A goroutine that always finds more bytes would delay the
// reading of other streams until the next preemption, up to 10 ms.
const YieldBytes = 16 << 10

// Cut drops the responses of an answer that exceeded its limit, to free their memory. It
// keeps the first few small ones as examples of the server's answer, and counts the
// others in UnrecordedEvents.
func (x *Exchange) Cut() {
	r := &x.Request
	var kept [][]byte
	size := 0
	for raw := range x.EachRaw() {
		if size += len(raw); len(kept) == keptEvents || size > keptEventBytes {
			break
		}
		kept = append(kept, append([]byte(nil), raw...)) // it shares its memory with others
	}
	r.UnrecordedEvents += len(r.Responses) - len(kept)
	r.Responses = append([]export.Response(nil), r.Responses[:len(kept)]...)
	x.Raw, x.packed = kept, nil
}
