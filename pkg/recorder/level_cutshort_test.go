package recorder

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
)

// Long answers are cut when the run must end at once, and only then; what they
// took in memory is no longer counted.
func TestCutShort(t *testing.T) {
	closedNow := make(chan struct{})
	close(closedNow)
	for _, tt := range []struct {
		name   string
		endNow <-chan struct{}
		events int
		status export.Status
		kept   int
		want   export.Status
	}{
		{"not at once", make(chan struct{}), 5000, export.StatusOK, 5000, export.StatusOK},
		{"edge: a short answer", closedNow, 1000, export.StatusOK, 1000, export.StatusOK},
		{"a long one, cancelled", closedNow, 1001, export.StatusCancelled, 16, export.StatusCancelled},
		{"a long one that was whole", closedNow, 5000, export.StatusOK, 16, export.StatusCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &levelRun{endNow: tt.endNow, completed: drive.NewQueue()}
			x := &backend.Exchange{Request: export.Request{Status: tt.status, Responses: make([]export.Response, tt.events)}}
			for range tt.events {
				x.Raw = append(x.Raw, []byte("data: x\n\n"))
			}
			l.completed.Put(x)
			l.cutShort(x)
			r := &x.Request
			if len(r.Responses) != tt.kept || len(x.Raw) != tt.kept || r.UnrecordedEvents != tt.events-tt.kept || r.Status != tt.want {
				t.Errorf("%d responses, %d counted, %v; want %d and %v", len(r.Responses), r.UnrecordedEvents, r.Status, tt.kept, tt.want)
			}
			if l.completed.Done(x); l.completed.Bytes() != 0 {
				t.Errorf("%d bytes still wait", l.completed.Bytes())
			}
		})
	}
}
