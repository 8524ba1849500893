package recorder

import (
	"math"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

func TestRolling(t *testing.T) {
	var w rolling
	const base = 1_700_000_000_000 // ms
	at := func(ms uint64) uint64 { return (base + ms) * 1_000_000 }
	check := func(ms uint64, ttft time.Duration, perSecond float64) {
		t.Helper()
		gotTTFT, got, _ := w.now(at(ms), at(0))
		if gotTTFT < ttft || gotTTFT > ttft+ttft/64 || math.Abs(got-perSecond) > 1e-9*perSecond {
			t.Errorf("at %d ms: TTFT %v, %v tokens/s; want %v, %v", ms, gotTTFT, got, ttft, perSecond)
		}
	}
	check(0, 0, 0)
	w.add(at(100), 10, 10*time.Millisecond)
	w.add(at(900), 30, 30*time.Millisecond)
	w.add(at(900), 60, 20*time.Millisecond)
	check(1000, 20*time.Millisecond, 100)
	check(4000, 20*time.Millisecond, 25)
	w.add(at(5200), 9, 40*time.Millisecond)
	check(5200, 30*time.Millisecond, 99/4.7) // the first half second is gone, with its request
	w.add(at(400), 999, time.Hour)           // too old: its place is taken
	check(5200, 30*time.Millisecond, 99/4.7)
	check(9900, 40*time.Millisecond, 9/4.9)
	check(10000, 0, 0)
	check(60_000, 0, 0)
	w.addWhole(at(60_000), 50*time.Millisecond)
	check(60_100, 0, 0) // a whole answer has no token of its own
	if _, _, got := w.now(at(60_100), at(0)); got < 50*time.Millisecond || got > 51*time.Millisecond {
		t.Errorf("E2EL %v, want 50ms", got)
	}
}

func TestFraction(t *testing.T) {
	const start = 1_000_000
	at := func(d time.Duration) uint64 { return start + uint64(d) }
	for _, tt := range []struct {
		name   string
		m      Measure
		now    uint64
		ended  int
		closed int // windows
		inside int // requests of the present one
		want   float64
		atMost bool
	}{
		{"count", Measure{Requests: 8}, at(time.Hour), 2, 0, 2, 0.25, false},
		{"count, nothing yet", Measure{Requests: 8}, at(time.Hour), 0, 0, 0, 0, false},
		{"duration", Measure{Duration: 10 * time.Second}, at(4 * time.Second), 99, 0, 9, 0.4, false},
		{"duration is over", Measure{Duration: 10 * time.Second}, at(11 * time.Second), 99, 0, 9, 1, false},
		{"before the start", Measure{Duration: 10 * time.Second}, 0, 0, 0, 0, 0, false},
		{"time windows", Measure{Interval: time.Second, MaxTrials: 10}, at(2500 * time.Millisecond), 9, 2, 3, 0.25, true},
		{"count windows", Measure{Mode: CountWindows, WindowRequests: 4, MaxTrials: 10}, at(time.Hour), 9, 2, 2, 0.25, true},
	} {
		m := newMeter(tt.m, start)
		m.windows = make([]Window, tt.closed)
		m.lat.n = tt.inside
		if got, atMost := m.fraction(tt.now, tt.ended); math.Abs(got-tt.want) > 1e-9 || atMost != tt.atMost {
			t.Errorf("%s: %v, at most %v; want %v, %v", tt.name, got, atMost, tt.want, tt.atMost)
		}
	}
	if got := left(3*time.Second, 0.25); got != 9*time.Second {
		t.Errorf("left %v, want 9s", got)
	}
	if got := left(3*time.Second, 0); got != 0 {
		t.Errorf("left %v of what is not known, want 0", got)
	}
}

// Snapshots tell how far the run is, and of a run that is not streamed no time of
// a token and no rate of tokens.
func TestProgress(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		testProgress(t, streamed)
	}
}

func testProgress(t *testing.T, streamed bool) {
	var all []Progress
	_, _, _, err := record(t, ok(100*time.Millisecond), Config{
		Levels: load.Closed(2), Warmup: 4, Measure: Measure{Duration: 10 * time.Second}, Progress: func(p Progress) { all = append(all, p) },
		Run: export.Run{Meta: &export.RunMeta{Streaming: &streamed}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first := all[0]; !first.Warmup || first.Target != 4 || first.Done != 4 || first.Fraction != 1 {
		t.Errorf("warm-up: %+v, want 4 of 4", first)
	}
	found := false
	for _, p := range all {
		if p.Warmup || p.Elapsed < 5*time.Second || found {
			continue
		}
		found = true
		if d := p.Left - (10*time.Second - p.Elapsed); d < 0 || d > time.Second || p.Fraction < 0.4 || p.Fraction > 0.6 {
			t.Errorf("after %v: %v left, %v done", p.Elapsed, p.Left, p.Fraction)
		}
		if !streamed {
			if p.E2EL < 100*time.Millisecond || p.E2EL > 102*time.Millisecond || p.TTFT != 0 || p.TokensPerSecond != 0 {
				t.Errorf("not streamed: E2EL %v, TTFT %v, %v tokens/s; want 100ms, 0 and 0", p.E2EL, p.TTFT, p.TokensPerSecond)
			}
			continue
		}
		if p.TTFT < 100*time.Millisecond || p.TTFT > 102*time.Millisecond || math.Abs(p.TokensPerSecond-20) > 1 {
			t.Errorf("TTFT %v, %v tokens/s; want 100ms and 20", p.TTFT, p.TokensPerSecond)
		}
	}
	if !found {
		t.Error("no snapshot in the middle of the run")
	}
}
