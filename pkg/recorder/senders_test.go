package recorder

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A slowServer takes its time to open a connection, and refuses one slot.
type slowServer struct {
	*fakeServer
	takes  time.Duration
	refuse int // slot; -1: none

	opening, most, opened, closed atomic.Int64
}

func (s *slowServer) Open(ctx context.Context, slot int, clock *rxclock.Clock) (backend.Sender, error) {
	if n := s.opening.Add(1); n > s.most.Load() {
		s.most.Store(n) // good enough: all begin together
	}
	defer s.opening.Add(-1)
	if !load.WaitTimer(time.Now().Add(s.takes), ctx.Done()) {
		return nil, ctx.Err()
	}
	if slot == s.refuse {
		return nil, errors.New("connection refused")
	}
	s.opened.Add(1)
	return &slowSender{s}, nil
}

type slowSender struct{ *slowServer }

func (s *slowSender) Close() error {
	s.closed.Add(1)
	return nil
}

// Connections are opened many at a time, but not all at once; a stop ends that, and
// so does a connection that cannot be opened. Nothing stays open.
func TestOpenConnections(t *testing.T) {
	const slots, takes = 256, 20 * time.Millisecond
	const maxOpening = 32 // at a time, of drive.SenderPool
	for _, tt := range []struct {
		name   string
		refuse int
		stop   time.Duration // after that; 0: never
		want   time.Duration // how long the run takes
		errs   bool
	}{
		{"all", -1, 0, slots/maxOpening*takes + time.Millisecond, false},
		{"one is refused", 40, 0, 2 * takes, true},
		{"stopped", -1, 30 * time.Millisecond, 30 * time.Millisecond, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := rxclock.New()
				srv := &slowServer{fakeServer: &fakeServer{clock: clock, answer: ok(time.Millisecond)}, takes: takes, refuse: tt.refuse}
				stop := make(chan struct{})
				if tt.stop > 0 {
					time.AfterFunc(tt.stop, func() { close(stop) })
				}
				start := time.Now()
				_, err := Run(t.Context(), Config{
					Backend: srv, Writer: &memWriter{}, Clock: clock, wait: waitTimer, watchPauses: watchByTicks, Run: export.Run{Meta: &export.RunMeta{}},
					Entries: workload.List{{}}, Levels: load.Closed(slots), Measure: window.Measure{Requests: slots}, Stop: stop,
				})
				if (err != nil) != tt.errs {
					t.Errorf("error %v", err)
				}
				if took := time.Since(start); took != tt.want {
					t.Errorf("took %v, want %v", took, tt.want)
				}
				if srv.most.Load() != maxOpening || srv.opened.Load() != srv.closed.Load() {
					t.Errorf("%d at a time, want %d; %d opened, %d closed", srv.most.Load(), maxOpening, srv.opened.Load(), srv.closed.Load())
				}
			})
		})
	}
}
