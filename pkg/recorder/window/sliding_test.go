package window

import (
	"math"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// bucketed reports whether a percentile of a histogram is want, which may be 1/64 too high.
func bucketed(got, want time.Duration) bool { return got >= want && got <= want+want/64 }

// tokensAt returns responses at these milliseconds.
func tokensAt(ms ...uint64) []export.Response {
	var all []export.Response
	for _, t := range ms {
		all = append(all, export.Response{RecvNS: t * 1_000_000})
	}
	return all
}

func TestSliding(t *testing.T) {
	var s Sliding
	const base = 1_700_000_000_000 // ms
	at := func(ms uint64) uint64 { return (base + ms) * 1_000_000 }
	check := func(ms uint64, ttft, ttft99, itl, itl99 time.Duration, requests float64) {
		t.Helper()
		got := s.Recent(at(ms), at(0))
		if !bucketed(got.TTFT.P50, ttft) || !bucketed(got.TTFT.P99, ttft99) || !bucketed(got.ITL.P50, itl) || !bucketed(got.ITL.P99, itl99) ||
			math.Abs(got.RequestsPerSecond-requests) > 1e-9*requests {
			t.Errorf("at %d ms: %+v; want TTFT %v and %v, ITL %v and %v, %v requests/s", ms, got, ttft, ttft99, itl, itl99, requests)
		}
	}
	const ms = time.Millisecond
	check(0, 0, 0, 0, 0, 0)
	s.AddStreamed(at(100), 10, 12, 10*ms, tokensAt(0, 8, 15, 23)) // gaps of 8, 7, 8
	s.AddStreamed(at(900), 30, 33, 30*ms, nil)
	s.AddStreamed(at(900), 60, 65, 20*ms, tokensAt(5, 55)) // 50
	check(1000, 20*ms, 30*ms, 8*ms, 50*ms, 3)
	check(4000, 20*ms, 30*ms, 8*ms, 50*ms, 0.75)
	s.AddStreamed(at(5200), 9, 10, 40*ms, tokensAt(1))
	check(5200, 30*ms, 40*ms, 50*ms, 50*ms, 3/4.7)                      // the first half second is gone, with its request
	s.AddStreamed(at(400), 999, 999, time.Hour, tokensAt(0, 3_600_000)) // too old: its place is taken
	check(5200, 30*ms, 40*ms, 50*ms, 50*ms, 3/4.7)
	check(9900, 40*ms, 40*ms, 0, 0, 1/4.9)
	check(10000, 0, 0, 0, 0, 0)
	check(60_000, 0, 0, 0, 0, 0)
	for range 99 {
		s.AddWhole(at(60_000), 50*ms)
	}
	s.AddWhole(at(60_000), 70*ms)
	s.AddWhole(at(60_000), 70*ms)
	check(60_100, 0, 0, 0, 0, 101/4.6) // a whole answer has no token of its own
	if got := s.Recent(at(60_100), at(0)).E2EL; !bucketed(got.P50, 50*ms) || !bucketed(got.P99, 70*ms) {
		t.Errorf("E2EL %v, want 50ms and 70ms", got)
	}
}

// Tokens count when they arrive, not when their request ends. A response counts as many
// tokens as in the requests that have ended, and as one before.
func TestSlidingTokens(t *testing.T) {
	const base = uint64(1_700_000_000_000_000_000)
	s := Sliding{Streamed: true}
	check := func(ms uint64, arrived uint64, want float64) {
		t.Helper()
		now := base + ms*1_000_000
		s.Arrived(now, base, arrived)
		if got := s.Recent(now, base).TokensPerSecond; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d responses at %d ms: %v tokens/s, want %v", arrived, ms, got, want)
		}
	}
	// A response every 20 ms, of a request that takes 6 s and has 300 tokens in 303 responses.
	for ms := uint64(250); ms <= 6000; ms += 250 {
		check(ms, ms/20, float64(ms/20-max(ms, 5000)/20+250)/min(float64(ms)/1000, 5))
	}
	s.AddStreamed(base+6060*1_000_000, 300, 303, time.Millisecond, nil)
	for ms := uint64(6250); ms <= 20_000; ms += 250 { // more of the same
		check(ms, ms/20, float64(ms/20-(ms-5000)/20)/5*300/303)
	}
	// A display that is late, and a load that has ended.
	check(60_000, 1000, 0)
	check(60_250, 1000, 0)

	whole := Sliding{}
	whole.Arrived(base+1_000_000_000, base, 50)
	if got := whole.Recent(base+1_000_000_000, base).TokensPerSecond; got != 0 {
		t.Errorf("answers that were not streamed: %v tokens/s, want 0", got)
	}
}
