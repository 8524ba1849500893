package recorder

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A fullWriter writes behind to a disk that stands still: a request with
// outputs takes 10 of its room, one without takes 1.
type fullWriter struct {
	memWriter
	waiting, room int64
}

func (w *fullWriter) Backlog() (waiting, room int64) { return w.waiting, w.room }

func (w *fullWriter) WriteRequest(r *export.Request) error {
	w.waiting++
	if len(r.Responses) > 0 && r.Responses[0].Outputs != nil {
		w.waiting += 9
	}
	return w.memWriter.WriteRequest(r)
}

// A disk that stands still costs the outputs first and then ends the run. All
// rows are there, with their times.
func TestBacklog(t *testing.T) {
	full := &fullWriter{room: 1000}
	res, _, err := recordTo(t, full, ok(10*time.Millisecond), Config{Levels: load.Closed(4, 8), Measure: window.Measure{Requests: 100_000}}, nil)
	var be *BacklogError
	if !errors.As(err, &be) || be.Waiting != 1000 || be.Decode {
		t.Fatalf("error %v, want that 1000 bytes wait for the disk", err)
	}
	rows := full.requests
	const withOutputs = 76 // 10 each: up to 750, and the one that goes beyond
	for i, r := range rows {
		if r.Status != export.StatusOK {
			continue // in flight when the run ended
		}
		kept := i < withOutputs
		if len(r.Responses) != 1 || r.Responses[0].RecvNS == 0 || r.OutputsDropped == kept || (r.Responses[0].Outputs != nil) != kept {
			t.Fatalf("row %d: dropped %v, %+v; want a time, and outputs %v", i, r.OutputsDropped, r.Responses, kept)
		}
	}
	// 240 more fill the room; those follow that had ended, and one of each slot
	// that was in flight.
	const fill, rest = withOutputs + 240, 4 + 4
	if n := len(rows); n <= fill || n > fill+rest || full.waiting > full.room+rest {
		t.Errorf("%d rows, %d waiting; want %d rows in a room of %d and at most %d more", n, full.waiting, fill, full.room, rest)
	}
	if len(res.Levels) != 1 || res.Levels[0].OutputsDropped < 200 || full.run == nil {
		t.Errorf("levels %d, closed %v; want the run ended in the first", len(res.Levels), full.run != nil)
	}
	m := full.experiments[0].Meta
	if m.OutputsDropped != res.Levels[0].OutputsDropped || len(m.Warnings) == 0 ||
		m.Warnings[0] != fmt.Sprintf("the disk did not keep up: the outputs of %d requests are lost, their times are kept", m.OutputsDropped) {
		t.Errorf("dropped %d, warnings %q", m.OutputsDropped, m.Warnings)
	}
}

// The mailbox knows what it and the collector hold.
func TestMailboxBytes(t *testing.T) {
	m := newMailbox()
	var want int64
	for i := range 3 {
		x := &backend.Exchange{Raw: [][]byte{make([]byte, 1000*i), make([]byte, 5)}}
		want += exchangeBytes(x)
		m.put(x)
	}
	if got := m.waiting(); got != want || got < 3000 {
		t.Errorf("%d bytes wait, want %d", got, want)
	}
	items := m.take(nil)
	if got := m.waiting(); got != want {
		t.Errorf("%d bytes after they were taken, want %d until they are done", got, want)
	}
	for _, x := range items {
		m.done(x)
	}
	if got := m.waiting(); got != 0 || len(items) != 3 {
		t.Errorf("%d bytes after all %d are done", got, len(items))
	}
}

// Answers that nobody looks at end the run as well.
func TestMailboxFull(t *testing.T) {
	l := &levelRun{session: &session{cfg: Config{Writer: &memWriter{}}}, box: newMailbox(), gate: newGate(0, 0, -1, 0), cancel: func() {}}
	l.box.bytes = maxMailboxBytes - 1
	l.relieve(&export.Request{})
	if l.giveUp != nil {
		t.Fatalf("%v, before the bound", l.giveUp)
	}
	l.box.bytes++
	l.relieve(&export.Request{})
	if want := "the machine is too slow to record this load: 1024 MB of answers wait to be decoded; lower the load or use one with more cores"; l.giveUp == nil || l.giveUp.Error() != want {
		t.Errorf("%v, want %s", l.giveUp, want)
	}
}
