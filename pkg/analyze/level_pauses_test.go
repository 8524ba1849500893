package analyze

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// pausedLevel is a closed loop of one slot whose requests take a second, with a
// pause from 2.5 s to 5 s in the third one. One fails in the pause, one was due in
// it and sent later, and one warmed up across it.
func pausedLevel() *memrun.Reader {
	var all []export.Request
	for _, s := range []float64{0, 1, 2, 5.5, 6.5, 7.5, 8.5} {
		end := s + 1
		if s == 2 {
			end = 5.5
		}
		q := as(sent(s, end), export.StatusOK, export.PhaseMeasured, 0)
		if s == 5.5 {
			q.ScheduledNS = sec(4)
		}
		all = append(all, q)
	}
	all = append(all,
		as(sent(2.1), export.StatusTimeout, export.PhaseMeasured, 5.2),
		as(sent(2.2, 5.2), export.StatusOK, export.PhaseWarmup, 0))
	f := reader("openai", all)
	f.Header.Meta = &export.RunMeta{Pauses: []export.Pause{{StartNS: sec(2.5), EndNS: sec(5), DurationNS: 2.5e9, Cause: export.PauseStopped}}}
	f.Header.Experiments[0].Meta = &export.ExperimentMeta{StartNS: sec(-1), EndNS: sec(10)}
	return f
}

func TestPauses(t *testing.T) {
	for _, tt := range []struct {
		name       string
		cfg        Config
		ok, failed int
		paused     int
		seconds    float64
		perSecond  float64
		excluded   []figure.Count
		warning    string
	}{
		{
			"named",
			Config{},
			7, 1, 2, 9.5, 7 / 9.5,
			[]figure.Count{{Name: "warmup", N: 1}},
			"the recorder's process was stopped for 2.5 s, which touched 2 requests and distorts latencies and rates; --without-pauses leaves them out",
		},
		{
			"left out",
			Config{Selection: Selection{WithoutPauses: true}},
			5, 0, 3, 5, 1,
			[]figure.Count{{Name: "paused", N: 3}, {Name: "warmup", N: 1}},
			"the recorder's process was stopped for 2.5 s; that time and the 3 requests that it touched are left out",
		},
		{
			"left out of kept requests",
			Config{Series: true, Selection: Selection{WithoutPauses: true}},
			5, 0, 3, 5, 1,
			[]figure.Count{{Name: "paused", N: 3}, {Name: "warmup", N: 1}},
			"are left out",
		},
		{
			"left out of a part",
			Config{Series: true, Selection: Selection{WithoutPauses: true, Window: &Interval{To: 6 * time.Second}}},
			2, 0, 3, 2, 1,
			[]figure.Count{{Name: "paused", N: 3}, {Name: "warmup", N: 1}},
			"are left out",
		},
		{
			"a part without the pause", Config{Selection: Selection{WithoutPauses: true, Window: &Interval{From: 6 * time.Second}}}, 3, 0, 0, 3, 1, nil, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := Run(t.Context(), pausedLevel(), tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			x := &rep.Experiments[0]
			if x.Problem != nil {
				t.Fatal(x.Problem)
			}
			if d := cmp.Diff(tt.excluded, x.Excluded); d != "" && tt.name != "left out of a part" {
				t.Errorf("excluded (-want +got):\n%s", d)
			}
			if x.OK != tt.ok || x.FailedRequests() != tt.failed || x.Paused != tt.paused {
				t.Errorf("%d ok, %d failed, %d paused; want %d, %d, %d", x.OK, x.FailedRequests(), x.Paused, tt.ok, tt.failed, tt.paused)
			}
			if got := time.Duration(x.DurationNS).Seconds(); math.Abs(got-tt.seconds) > 1e-6 {
				t.Errorf("duration %v s, want %v", got, tt.seconds)
			}
			if got := x.Throughput.Requests; !got.OK && tt.ok > 0 || math.Abs(got.PerSecond-tt.perSecond) > 1e-3 {
				t.Errorf("%v requests/s, want %v", got, tt.perSecond)
			}
			var all []string
			for _, w := range x.Warnings {
				all = append(all, w.Error())
			}
			text := strings.Join(all, "\n")
			if !strings.Contains(text, tt.warning) || tt.warning == "" && strings.Contains(text, "stopped") {
				t.Errorf("warnings %q, want %q", all, tt.warning)
			}
			if tt.cfg.Series {
				sum := 0.0
				for _, s := range x.Steps {
					sum += s.Seconds
				}
				if math.Abs(sum-tt.seconds) > 1e-6 {
					t.Errorf("the steps take %v s, want %v", sum, tt.seconds)
				}
			}
		})
	}
}

// A window that is all pause has no rates.
func TestPausesInWindows(t *testing.T) {
	rep, err := Run(t.Context(), pausedLevel(), Config{Windows: Windows{Every: 2500 * time.Millisecond}, Selection: Selection{WithoutPauses: true}})
	if err != nil {
		t.Fatal(err)
	}
	var got []figure.Rate
	for _, w := range rep.Experiments[0].Windows {
		got = append(got, w.Throughput.Requests)
	}
	want := []figure.Rate{{PerSecond: 1, OK: true}, {}, {PerSecond: 0, OK: true}, {PerSecond: 3 / 2.0, OK: true}}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })); d != "" {
		t.Errorf("requests per second (-want +got):\n%s", d)
	}
}

// Time in pauses and in the slots of left-out requests does not count.
func TestLostTime(t *testing.T) {
	p := answer.Pauses{{StartNS: 10, EndNS: 30}, {StartNS: 40, EndNS: 40}, {StartNS: 50, EndNS: 60}}
	// Both of two slots had requests that are left out: from 4 to 34, and from 20 to 70.
	out := []figure.Span{{FromNS: 4, ToNS: 34}, {FromNS: 20, ToNS: 70}}
	for _, tt := range []struct {
		from, to   uint64
		open, loop time.Duration // what counts of an open loop, and of the closed one
	}{
		{0, 100, 70, 50},
		{0, 10, 10, 7},
		{12, 28, 0, 0},
		{20, 56, 20, 8},
		{72, 90, 18, 18},
		{30, 20, 0, 0},
	} {
		if got := newLostTime(p, out, 0).counting(tt.from, tt.to); got != tt.open {
			t.Errorf("open loop: %d counts from %d to %d, want %d", got, tt.from, tt.to, tt.open)
		}
		if got := newLostTime(p, out, 2).counting(tt.from, tt.to); got != tt.loop {
			t.Errorf("closed loop: %d counts from %d to %d, want %d", got, tt.from, tt.to, tt.loop)
		}
	}
	damaged := newLostTime(answer.Pauses{{StartNS: 1, EndNS: math.MaxUint64 - 1}}, nil, 0)
	if got := damaged.counting(0, math.MaxUint64); got != 0 {
		t.Errorf("%v of a level that is all pause counts", got)
	}
}

// Requests of all kinds that were sent again are counted.
func TestResent(t *testing.T) {
	f := pausedLevel()
	for _, i := range []int{0, 3, 8} { // the last one warmed up
		f.Requests[0][i].Resent = true
	}
	rep, err := Run(t.Context(), f, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.Experiments[0].Resent; got != 3 {
		t.Errorf("%d requests sent again, want 3", got)
	}
}
