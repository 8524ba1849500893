package window

import (
	"math"
	"testing"
	"time"
)

func TestSliding(t *testing.T) {
	var s Sliding
	const base = 1_700_000_000_000 // ms
	at := func(ms uint64) uint64 { return (base + ms) * 1_000_000 }
	check := func(ms uint64, ttft time.Duration, perSecond float64) {
		t.Helper()
		gotTTFT, got, _ := s.Recent(at(ms), at(0))
		if gotTTFT < ttft || gotTTFT > ttft+ttft/64 || math.Abs(got-perSecond) > 1e-9*perSecond {
			t.Errorf("at %d ms: TTFT %v, %v tokens/s; want %v, %v", ms, gotTTFT, got, ttft, perSecond)
		}
	}
	check(0, 0, 0)
	s.AddStreamed(at(100), 10, 10*time.Millisecond)
	s.AddStreamed(at(900), 30, 30*time.Millisecond)
	s.AddStreamed(at(900), 60, 20*time.Millisecond)
	check(1000, 20*time.Millisecond, 100)
	check(4000, 20*time.Millisecond, 25)
	s.AddStreamed(at(5200), 9, 40*time.Millisecond)
	check(5200, 30*time.Millisecond, 99/4.7) // the first half second is gone, with its request
	s.AddStreamed(at(400), 999, time.Hour)   // too old: its place is taken
	check(5200, 30*time.Millisecond, 99/4.7)
	check(9900, 40*time.Millisecond, 9/4.9)
	check(10000, 0, 0)
	check(60_000, 0, 0)
	s.AddWhole(at(60_000), 50*time.Millisecond)
	check(60_100, 0, 0) // a whole answer has no token of its own
	if _, _, got := s.Recent(at(60_100), at(0)); got < 50*time.Millisecond || got > 51*time.Millisecond {
		t.Errorf("E2EL %v, want 50ms", got)
	}
}
