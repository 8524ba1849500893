package recorder

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// A machine is what a pauseWatch looks at, made up: time goes on in a bubble, and a
// test adds the time in which the watcher did not run.
type machine struct {
	mu        sync.Mutex
	start     time.Time
	skipped   time.Duration // of the clock of the run
	asleep    time.Duration
	continues uint64
}

func (m *machine) sources() pauseSources {
	return pauseSources{
		nowNS: func() uint64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			return 1_000_000_000 + uint64(time.Since(m.start)+m.skipped)
		},
		asleep:    func() time.Duration { m.mu.Lock(); defer m.mu.Unlock(); return m.asleep },
		continued: func() uint64 { m.mu.Lock(); defer m.mu.Unlock(); return m.continues },
		wake:      newTickWaker(pauseWakeEvery),
	}
}

// happen changes the machine; between two calls the watcher has the time to wake.
func (m *machine) happen(skip, sleep time.Duration, continues uint64) {
	m.mu.Lock()
	m.skipped += skip
	m.asleep += sleep
	m.continues += continues
	m.mu.Unlock()
}

func TestPauseWatch(t *testing.T) {
	const ms = time.Millisecond
	type event struct {
		after       time.Duration // the previous event
		skip, sleep time.Duration
		continues   uint64
	}
	for _, tt := range []struct {
		name   string
		events []event
		want   []export.Pause // relative to the start
	}{
		{"nothing happens", []event{{after: time.Minute}}, nil},
		{
			"stopped for 2 s",
			[]event{{after: 110 * ms, skip: 2 * time.Second, continues: 1}},
			[]export.Pause{{StartNS: 100e6, EndNS: 2120e6, DurationNS: 2020e6, Cause: export.PauseStopped}},
		},
		{
			"the signal is seen later",
			[]event{{after: 110 * ms, skip: 2 * time.Second}, {after: 200 * ms, continues: 1}},
			[]export.Pause{{StartNS: 100e6, EndNS: 2120e6, DurationNS: 2020e6, Cause: export.PauseStopped}},
		},
		{
			"no processor between the stop and the signal",
			[]event{{after: 110 * ms, skip: 2 * time.Second}, {after: 20 * ms, skip: 60 * ms, continues: 1}},
			[]export.Pause{{StartNS: 100e6, EndNS: 2120e6, DurationNS: 2020e6, Cause: export.PauseStopped}},
		},
		{
			"no processor for longer, long before",
			[]event{{after: 110 * ms, skip: 5 * time.Second}, {after: 2 * time.Second, skip: time.Second, continues: 1}},
			[]export.Pause{{StartNS: 7100e6, EndNS: 8120e6, DurationNS: 1020e6, Cause: export.PauseStopped}},
		},
		{
			"twice",
			[]event{{after: 30 * ms, skip: time.Second, continues: 1}, {after: time.Second, skip: time.Second, continues: 1}},
			[]export.Pause{
				{StartNS: 20e6, EndNS: 1040e6, DurationNS: 1020e6, Cause: export.PauseStopped},
				{StartNS: 2020e6, EndNS: 3040e6, DurationNS: 1020e6, Cause: export.PauseStopped},
			},
		},
		{"no processor for 10 s", []event{{after: 110 * ms, skip: 10 * time.Second}, {after: 10 * time.Second}}, nil},
		{"SIGCONT while it runs", []event{{after: 110 * ms, continues: 1}}, nil},
		{"SIGCONT long after no processor", []event{{after: 110 * ms, skip: time.Second}, {after: 2 * time.Second, continues: 1}}, nil},
		{"edge: stopped for less than is named", []event{{after: 110 * ms, skip: 29 * ms, continues: 1}}, nil},
		{
			"suspended for 2 s: the clock of the run stands still",
			[]event{{after: 110 * ms, sleep: 2 * time.Second}},
			[]export.Pause{{StartNS: 100e6, EndNS: 120e6, DurationNS: 2000e6, Cause: export.PauseSuspended}},
		},
		{"readings scatter", []event{{after: 110 * ms, sleep: 49 * ms}, {after: 100 * ms, sleep: -49 * ms}}, nil},
		{
			"suspended while it was stopped",
			[]event{{after: 110 * ms, skip: time.Second, sleep: 3 * time.Second, continues: 1}},
			[]export.Pause{
				{StartNS: 100e6, EndNS: 1120e6, DurationNS: 3000e6, Cause: export.PauseSuspended},
				{StartNS: 100e6, EndNS: 1120e6, DurationNS: 1020e6, Cause: export.PauseStopped},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{start: time.Now()}
				w := newPauseWatch(m.sources())
				for _, e := range tt.events {
					time.Sleep(e.after)
					synctest.Wait()
					m.happen(e.skip, e.sleep, e.continues)
				}
				time.Sleep(2 * pauseWakeEvery)
				synctest.Wait()
				before := w.Pauses()
				got := w.Stop()
				if d := cmp.Diff(before, got); d != "" {
					t.Errorf("Pauses and Stop differ (-Pauses +Stop):\n%s", d)
				}
				for i := range got {
					got[i].StartNS -= 1_000_000_000
					got[i].EndNS -= 1_000_000_000
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("pauses (-want +got):\n%s", d)
				}
			})
		})
	}
}

// A stop between two readings of one wake-up is a pause, too.
func TestStopWhileLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machine{start: time.Now()}
		s := m.sources()
		var stop atomic.Bool
		nowNS := s.nowNS
		s.nowNS = func() uint64 {
			ns := nowNS()
			if stop.Swap(false) {
				m.happen(2*time.Second, 0, 1)
			}
			return ns
		}
		w := newPauseWatch(s)
		time.Sleep(110 * time.Millisecond)
		synctest.Wait()
		stop.Store(true)
		time.Sleep(time.Second)
		if got := w.Stop(); len(got) != 1 {
			t.Errorf("pauses %+v, want one", got)
		}
	})
}
