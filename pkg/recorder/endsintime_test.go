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
