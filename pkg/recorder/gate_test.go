package recorder

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// What a gate lets pass by the clock: the warm-up, the time of the measurement,
// whose last instant belongs to it, and nothing after that.
func TestGateByTime(t *testing.T) {
	g := newGate(0, 100, -1, 50)
	for _, tt := range []struct {
		due, now uint64
		phase    export.Phase
		ok       bool
	}{
		{10, 10, export.PhaseWarmup, true},
		{99, 160, export.PhaseWarmup, true}, // late, by what it is due still warm-up
		{100, 100, export.PhaseMeasured, true},
		{150, 150, export.PhaseMeasured, true},
		{149, 151, 0, false}, // due in time, but it is too late to send it
		{120, 120, 0, false}, // shut once, shut for ever
	} {
		if p, ok := g.next(tt.due, tt.now); ok != tt.ok || ok && p.phase != tt.phase {
			t.Errorf("due %d, now %d: passes %v in phase %v; want %v, %v", tt.due, tt.now, ok, p.phase, tt.ok, tt.phase)
		}
	}
	if !g.timeUp() || g.count() != 4 || g.until() != 150 {
		t.Errorf("time up %v, %d passed, until %d; want true, 4, 150", g.timeUp(), g.count(), g.until())
	}
	select {
	case <-g.closed:
	default:
		t.Error("the gate is not closed")
	}
}

// A gate that a count shuts is not one whose time is up.
func TestGateByCount(t *testing.T) {
	g := newGate(0, 0, 1, 0)
	g.measure(5)
	if p, ok := g.next(6, 6); !ok || !p.last {
		t.Errorf("first: %+v, %v; want the last", p, ok)
	}
	if _, ok := g.next(7, 7); ok || g.timeUp() {
		t.Errorf("second passes %v, time up %v; want neither", ok, g.timeUp())
	}
}

// A collector that is far behind, since what it does with a request takes longer
// than the gap to the next one, ends the load in time all the same: by the clock
// of the measurement, or when the user says stop. The windows end where they were
// to end.
func TestLoadEndsInTime(t *testing.T) {
	slow := func(uint64) answer {
		return answer{after: 4 * time.Millisecond, status: export.StatusOK, decode: 3 * time.Millisecond}
	}
	const second = uint64(time.Second)
	for _, tt := range []struct {
		name    string
		level   load.Level
		measure window.Measure
		stopAt  time.Duration
		want    []uint64 // windows, since the level began
	}{
		{"a rate", load.Rate{PerSecond: 1000}, window.Measure{Duration: time.Second}, 0, []uint64{0, second}},
		{"a concurrency", load.Concurrency{N: 4}, window.Measure{Duration: time.Second}, 0, []uint64{0, second}},
		{"windows", load.Rate{PerSecond: 1000}, window.Measure{Interval: time.Second / 2, MaxTrials: 2}, 0, []uint64{0, second / 2, second}},
		{"a stop", load.Rate{PerSecond: 1000}, window.Measure{Requests: 100_000}, time.Second, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Levels: []load.Level{tt.level}, Measure: tt.measure, Grace: time.Hour}
			w, res, _, err := record(t, slow, cfg, func(stop chan struct{}, _ context.CancelFunc) {
				if tt.stopAt > 0 {
					time.Sleep(tt.stopAt)
					close(stop)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			all := starts(w)
			if last := all[len(all)-1]; last > time.Second {
				t.Errorf("%d requests, the last one sent after %v; want none after 1s", len(all), last)
			}
			if n := len(all); n < 900 {
				t.Errorf("%d requests in a second, want 900 at least: nothing but time ends the load", n)
			}
			l := res.Levels[0]
			if got, want := boundaries(l.Windows, w.experiments[0].Meta.StartNS), tt.want; want != nil && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("windows at %v, want %v", got, want)
			}
			if w.experiments[0].Meta.Interrupted != (tt.stopAt > 0) {
				t.Errorf("interrupted %v", w.experiments[0].Meta.Interrupted)
			}
		})
	}
}

func boundaries(windows []window.Window, startNS uint64) (all []uint64) {
	for i, w := range windows {
		if i == 0 {
			all = append(all, w.StartNS-startNS)
		}
		all = append(all, w.EndNS-startNS)
	}
	return all
}
