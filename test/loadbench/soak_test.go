//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

const schedulerTraceText = `SCHED 0ms: gomaxprocs=2 idleprocs=0 threads=4
  P0: status=0 schedtick=0
  M3: p=nil curg=nil
  G1: status=1(chan receive) m=nil lockedm=0
  G2: status=4(force gc (idle)) m=nil lockedm=nil
pa-record: note: no --input-data: sending the built-in prompts
SCHED 5007ms: gomaxprocs=2 idleprocs=1 threads=8
  P1: status=0 schedtick=2447
  G1: status=4(select) m=nil lockedm=nil
  G2: status=6() m=nil lockedm=nil
  G9: status=2(sleep) m=0 lockedm=nil
  G10: status=3() m=2 lockedm=nil
`

func TestGoroutinesIn(t *testing.T) {
	began := time.Unix(1700000000, 0)
	got := goroutinesIn([]byte(schedulerTraceText), began)
	want := []sample{{began, figures{goroutines: 2}}, {began.Add(5007 * time.Millisecond), figures{goroutines: 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("goroutinesIn = %v, want %v", got, want)
	}
	if got, want := string(withoutTrace([]byte(schedulerTraceText))), "pa-record: note: no --input-data: sending the built-in prompts\n"; got != want {
		t.Errorf("withoutTrace = %q, want %q", got, want)
	}
}

func TestBusyCPU(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n": (100 + 20 + 30 + 6 + 7 + 8) * 10 * time.Millisecond,
		"cpu  100 20 x 4000 500 6 7 8 90 10\n":                            0,
		"cpu  100 20 30\n":                                                0,
		"intr 1 2 3 4 5 6 7 8 9\n":                                        0,
		"":                                                                0,
	} {
		if got := busyCPU([]byte(text)); got != want {
			t.Errorf("busyCPU(%q) = %v, want %v", text, got, want)
		}
	}
	x, ok := sampleOf(time.Now(), os.Getpid(), os.Getpid())
	if f := x.figures; !ok || f[residentMB] <= 0 || f[descriptors] < 3 || f[threads] < 1 || f[simulatorMB] <= 0 || f[machineCPU] < f[ownCPU]/3 {
		t.Errorf("this process on %s: %+v, %v", runtime.GOOS, x, ok)
	}
}

// A soak of 200 s, in intervals of 10 s: tokens and requests count in the interval of their
// arrival and end, and nothing counts before and after the measured time.
func TestSoakParts(t *testing.T) {
	began := time.Unix(1700000000, 0)
	run := &soak{began: began, end: began.Add(200 * time.Second)}
	token := func(at time.Duration, errorNS uint64, read uint32) export.Response {
		ns := uint64(began.Add(at).UnixNano())
		event := fmt.Appendf(nil, `data: {"choices":[{"delta":{"content":" %d"}}]}`, ns-errorNS)
		p := export.Response{RecvNS: ns, Read: read}
		p.Outputs = export.Fields{{Name: "response", Value: export.Value{Data: event}}}
		return p
	}
	for s := range 200 {
		at := time.Duration(s) * time.Second
		run.add(&export.Request{Status: export.StatusOK, Responses: []export.Response{
			token(at, 9000, 1), token(at+time.Millisecond, 1000, 1), token(at+2*time.Millisecond, 2000, 2),
		}})
		run.samples = append(run.samples, sample{began.Add(at), figures{
			residentMB: float64(100 + s), descriptors: 9, threads: 4, simulatorMB: 7, machineCPU: 3 * at.Seconds(), ownCPU: 1.5 * at.Seconds(),
		}})
	}
	for s := range 200 {
		run.samples = append(run.samples, sample{began.Add(time.Duration(s) * time.Second), figures{goroutines: float64(s)}})
	}
	run.add(&export.Request{Status: export.StatusHTTPError, FailedNS: uint64(began.Add(15 * time.Second).UnixNano())})
	run.add(&export.Request{Status: export.StatusOK, Responses: []export.Response{token(-time.Second, 0, 1), token(201*time.Second, 0, 2)}})

	for _, tt := range []struct {
		from, to int
		want     figures
	}{
		{0, 1, figures{
			residentMB: 104, goroutines: 4, descriptors: 9, threads: 4, simulatorMB: 7, "p50 µs": 2, "p99 µs": 9, "p99.9 µs": 9, aloneP99: 2,
			tokensS: 3, ended: 10, othersCores: 1.5,
		}},
		{1, 2, figures{
			residentMB: 114, goroutines: 14, descriptors: 9, threads: 4, simulatorMB: 7, "p50 µs": 2, "p99 µs": 9, "p99.9 µs": 9, aloneP99: 2,
			tokensS: 3, ended: 11, failed: 1, othersCores: 1.5,
		}},
		{18, 20, figures{
			residentMB: 289, goroutines: 189, descriptors: 9, threads: 4, simulatorMB: 7, "p50 µs": 2, "p99 µs": 9, "p99.9 µs": 9, aloneP99: 2,
			tokensS: 3, ended: 20, othersCores: 1.5,
		}},
	} {
		tt.want["max µs"] = 9
		tt.want[failed] += 0 // is there also if none failed
		if d := cmp.Diff(tt.want, run.part(tt.from, tt.to)); d != "" {
			t.Errorf("part(%d, %d) (-want +got):\n%s", tt.from, tt.to, d)
		}
	}
	if got, want := run.times(7), "1m10s to 1m20s"; got != want {
		t.Errorf("times(7) = %q, want %q", got, want)
	}
}

// Each figure that grows beyond its limit, or was not measured, fails; so does a rate that
// falls.
func TestVerdicts(t *testing.T) {
	good := figures{
		residentMB: 100, goroutines: 500, descriptors: 530, threads: 8, simulatorMB: 50, "p50 µs": 4, "p99 µs": 30, "p99.9 µs": 80, aloneP99: 10,
		tokensS: 20000,
	}
	for i, tt := range []struct {
		change func(figures)
		failed int
	}{
		{func(figures) {}, 0},
		{func(p figures) {
			p[residentMB] = 110
			p[goroutines] = 502
			p["p99 µs"] = 61
			p["p99.9 µs"] = 241
			p[simulatorMB] = 500
		}, 0},
		{func(p figures) { p[residentMB] = 111 }, 1},
		{func(p figures) { p[goroutines] = 503 }, 1},
		{func(p figures) { p[descriptors] = 533; p[threads] = 10 }, 2},
		{func(p figures) { p["p50 µs"] = 8; p[aloneP99] = 22 }, 2},
		{func(p figures) { p["p99 µs"] = 62; p["p99.9 µs"] = 242 }, 2},
		{func(p figures) { p["p99 µs"] = 62; p["p99.9 µs"] = 242; p[othersCores] = 0.5 }, 0},
		{func(p figures) { p[tokensS] = 18999 }, 1},
		{func(p figures) { p[goroutines] = 0 }, 1},
	} {
		last := maps.Clone(good)
		tt.change(last)
		if rows, failed := verdicts(good, last); failed != tt.failed || len(rows) != 9 {
			t.Errorf("case %s: %d failed in %d rows, want %d: %q", strconv.Itoa(i), failed, len(rows), tt.failed, rows)
		}
	}
}
