package recorder

import (
	"math"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

func TestTimeLeft(t *testing.T) {
	if got := rest(3*time.Second, 0.25); got != 9*time.Second {
		t.Errorf("left %v, want 9s", got)
	}
	if got := rest(3*time.Second, 0); got != 0 {
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
		Levels: load.Closed(2), Warmup: 4, Measure: window.Measure{Duration: 10 * time.Second}, Progress: func(p Progress) { all = append(all, p) },
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
			if r := p.Recent; r.E2EL.P50 < 100*time.Millisecond || r.E2EL.P99 > 102*time.Millisecond || r.TTFT.P50 != 0 || r.TokensPerSecond != 0 || math.Abs(r.RequestsPerSecond-20) > 1 {
				t.Errorf("not streamed: %+v; want E2EL 100ms, 20 requests/s, no TTFT, no tokens", r)
			}
			continue
		}
		if r := p.Recent; r.TTFT.P50 < 100*time.Millisecond || r.TTFT.P99 > 102*time.Millisecond || math.Abs(r.TokensPerSecond-20) > 1 || math.Abs(r.RequestsPerSecond-20) > 1 || r.E2EL.P50 != 0 {
			t.Errorf("streamed: %+v; want TTFT 100ms, 20 tokens/s, 20 requests/s, no E2EL", r)
		}
	}
	if !found {
		t.Error("no snapshot in the middle of the run")
	}
}

// Tokens of answers that take longer than the five seconds of a snapshot count from the
// beginning: 300 tokens, one every 20 ms, are 50 a second, from two slots 100.
func TestProgressOfLongAnswers(t *testing.T) {
	var all []Progress
	_, _, _, err := record(t, func(uint64) answer {
		return answer{status: export.StatusOK, after: 6 * time.Second, responses: 300}
	}, Config{
		Levels: load.Closed(2), Measure: window.Measure{Requests: 4}, Progress: func(p Progress) { all = append(all, p) },
		Run: export.Run{Meta: &export.RunMeta{Streaming: new(true)}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all {
		if p.Elapsed < time.Second || p.Elapsed > 11*time.Second {
			continue
		}
		n++
		if r := p.Recent.TokensPerSecond; math.Abs(r-100) > 3 {
			t.Errorf("after %v: %v tokens/s, want 100", p.Elapsed, r)
		}
	}
	if n < 30 {
		t.Errorf("%d snapshots, want one each 250 ms", n)
	}
}
