package recorder

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// every returns answers of which each n-th fails.
func every(n uint64) func(uint64) answer {
	return func(id uint64) answer {
		if id%n == 0 {
			return answer{after: 10 * time.Millisecond, status: export.StatusHTTPError, msg: "overloaded"}
		}
		return answer{after: 10 * time.Millisecond, status: export.StatusOK}
	}
}

func TestMaxErrorRate(t *testing.T) {
	all := func(uint64) answer {
		return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "no"}
	}
	for _, tt := range []struct {
		name    string
		answers func(uint64) answer
		cfg     Config
		want    string // in the message; "" for no error
		rows    int    // at least, and not twice as many
		levels  int
	}{
		{"below", every(4), Config{Measure: window.Measure{Requests: 100}, MaxErrorRate: new(0.25)}, "", 100, 1},
		{"above, seen at the twentieth", every(4), Config{Measure: window.Measure{Requests: 100}, MaxErrorRate: new(0.2)}, "concurrency 1: 5 of 20 requests failed, 25%, more than the 20% allowed; 5 of them with http_error: overloaded", 20, 1},
		{"none allowed, seen at the twentieth", every(7), Config{Measure: window.Measure{Requests: 100}, MaxErrorRate: new(0.0)}, "2 of 20 requests failed, 10%, more than the 0% allowed", 20, 1},
		{"fewer than twenty, seen at the level's end", every(4), Config{Levels: load.Closed(1, 2), Measure: window.Measure{Requests: 8}, MaxErrorRate: new(0.1)}, "2 of 8 requests failed", 8, 1},
		{"the second level alone", func(id uint64) answer { return every(max(9-id/100*8, 1))(id) }, Config{Levels: load.Closed(1, 2), Measure: window.Measure{Requests: 99}, MaxErrorRate: new(0.5)}, "concurrency 2: ", 99, 2},
		{"warm-up counts", every(2), Config{Warmup: 30, Measure: window.Measure{Requests: 100}, MaxErrorRate: new(0.4)}, "10 of 20 requests failed", 20, 1},
		{"it wins over the rule for nothing but failures", all, Config{Measure: window.Measure{Requests: 100}, MaxErrorRate: new(0.5)}, "5 of 5 requests failed, 100%", 5, 1},
		{"all may fail: that rule decides", all, Config{Measure: window.Measure{Requests: 100}, MaxErrorRate: new(1.0)}, "all of the first 5 requests failed", 5, 1},
		{"not asked for", every(2), Config{Measure: window.Measure{Requests: 100}}, "", 100, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, res, _, err := record(t, tt.answers, tt.cfg, nil)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			var re *ErrorRateError
			if err != nil && strings.Contains(tt.want, "requests failed, ") && !errors.As(err, &re) {
				t.Errorf("a %T", err)
			}
			if n := len(w.requests); n < tt.rows || n >= 2*tt.rows || len(res.Levels) != tt.levels || w.run == nil {
				t.Errorf("%d rows of %d levels, closed %v; want %d rows or few more, %d levels", n, len(res.Levels), w.run != nil, tt.rows, tt.levels)
			}
		})
	}
}

// A run that the user stops has no error rate to judge.
func TestMaxErrorRateStopped(t *testing.T) {
	_, res, _, err := record(t, every(2), Config{Measure: window.Measure{Requests: 10000}, MaxErrorRate: new(0.0)}, func(stop chan struct{}, _ context.CancelFunc) {
		time.Sleep(45 * time.Millisecond)
		close(stop)
	})
	if err != nil || !res.Interrupted {
		t.Errorf("error %v, interrupted %v", err, res.Interrupted)
	}
}

// Kinds of failures are counted separately, up to a bound.
func TestErrorRateKinds(t *testing.T) {
	var e errorRate
	for i := range 1000 {
		e.add(&export.Request{Status: export.StatusRPCError, Code: i / 3, Message: "x"})
		e.add(&export.Request{Status: export.StatusTimeout, Message: "y"})
		e.add(&export.Request{Status: export.StatusCancelled})
		e.add(&export.Request{Status: export.StatusOK})
	}
	if e.ended != 3000 || e.failed != 2000 || len(e.kinds) != maxFailureKinds {
		t.Errorf("%d of %d failed in %d kinds", e.failed, e.ended, len(e.kinds))
	}
	err := e.error(load.Concurrency{N: 4}, 0.001)
	if got, want := err.Error(), "concurrency 4: 2,000 of 3,000 requests failed, 66.7%, more than the 0.1% allowed; 1,000 of them with timeout: y"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e.above(2.0/3) || !e.above(0.66) {
		t.Error("two thirds are not more than two thirds")
	}
}
