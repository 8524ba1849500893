package backend_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// The first empty events become responses, later ones are counted, and all
// count against the limit.
func TestAnswerMemory(t *testing.T) {
	const events = 2 * backend.RecordedEmptyEvents
	var m backend.AnswerMemory
	var r export.Request
	m.Begin(events*(backend.EventMemory+3) - 1)
	recorded := 0
	for i := range events {
		err := m.Take(3)
		record, eventErr := m.Event(&r, true)
		if record {
			recorded++
		}
		var over *backend.AnswerMemoryError
		switch err := errors.Join(err, eventErr); {
		case i < events-1 && err != nil:
			t.Fatalf("event %d: %v", i, err)
		case i == events-1 && !errors.As(err, &over):
			t.Errorf("the last event: %v, want an AnswerMemoryError", err)
		}
	}
	if recorded != backend.RecordedEmptyEvents || r.UnrecordedEvents != events-recorded {
		t.Errorf("%d recorded and %d counted of %d", recorded, r.UnrecordedEvents, events)
	}
	m.Begin(1 << 30)
	for i := range events {
		if record, err := m.Event(&r, false); !record || err != nil {
			t.Fatalf("event %d that says something: %v, %v", i, record, err)
		}
	}
}

// The first small events of an answer that is too large stay, in memory of their own.
func TestExchangeCut(t *testing.T) {
	large := make([]byte, 1<<20)
	for _, tt := range []struct {
		name string
		raw  [][]byte
		kept int
	}{
		{"edge: none", nil, 0},
		{"few", [][]byte{large[:10], large[10:20]}, 2},
		{"many", bytes.SplitAfter(bytes.Repeat([]byte("x\n"), 100), []byte("\n"))[:100], 16},
		{"a large one behind", [][]byte{large[:10], large, large[:10]}, 1},
		{"edge: a large one", [][]byte{large}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := backend.Exchange{Raw: tt.raw}
			x.Request.Responses = make([]export.Response, len(tt.raw))
			x.Cut()
			if n := len(x.Request.Responses); n != tt.kept || len(x.Raw) != n || x.Request.UnrecordedEvents != len(tt.raw)-n {
				t.Fatalf("%d responses, %d raw, %d counted; want %d of %d", n, len(x.Raw), x.Request.UnrecordedEvents, tt.kept, len(tt.raw))
			}
			for i := range x.Raw {
				if !bytes.Equal(x.Raw[i], tt.raw[i]) || &x.Raw[i][0] == &tt.raw[i][0] {
					t.Errorf("event %d is %q, or shares its memory", i, x.Raw[i])
				}
			}
		})
	}
}
