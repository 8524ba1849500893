package recorder

import (
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

const ms = uint64(time.Millisecond)

// A level knows its client; warm-up is not in it.
func TestClientOfLevel(t *testing.T) {
	w, _, _, err := record(t, ok(10*time.Millisecond), Config{Levels: load.Closed(2), Warmup: 4, Measure: window.Measure{Requests: 40}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := w.experiments[0].Meta.Client
	if c == nil || c.Turnaround == nil || c.Turnaround.N != 38 || c.Turnaround.MaxNS != 0 || c.Stamps.User != 40 || c.AchievedPerSecond < 199 || c.AchievedPerSecond > 201 {
		t.Errorf("client %+v, want 38 turnarounds of no time, 40 user stamps, 200 requests a second", c)
	}
	if c.OfferedPerSecond != 0 || c.Lateness != nil {
		t.Error("a closed loop has no schedule")
	}
}
