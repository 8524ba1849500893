package recorder

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
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
	// 240 more fill the room. The requests that had ended follow, and one request in
	// flight from each slot.
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

// Responses that wait to be decoded end the run when they take too much memory.
func TestUndecodedResponses(t *testing.T) {
	l := &levelRun{runState: &runState{cfg: Config{Writer: &memWriter{}}}, completed: drive.NewQueue(), admission: drive.NewAdmission(drive.Limits{Measured: -1}), cancel: func() {}}
	mb := make([]byte, 1<<20)
	l.completed.Put(&backend.Exchange{Raw: slices.Repeat([][]byte{mb}, 1022)}) // they share their memory
	l.completed.Put(&backend.Exchange{Raw: [][]byte{make([]byte, maxUndecodedBytes-1-l.completed.Bytes()-1024)}})
	if got := l.completed.Bytes(); got != maxUndecodedBytes-1 {
		t.Fatalf("%d bytes, want one less than the bound", got)
	}
	l.limitBacklog(&export.Request{})
	if l.giveUp != nil {
		t.Fatalf("%v, before the bound", l.giveUp)
	}
	l.completed.Put(&backend.Exchange{})
	l.limitBacklog(&export.Request{})
	if want := "the machine is too slow to record this load: 1024 MB of answers wait to be decoded; lower the load or use one with more cores"; l.giveUp == nil || l.giveUp.Error() != want {
		t.Errorf("%v, want %s", l.giveUp, want)
	}
}
