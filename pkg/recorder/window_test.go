package recorder

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// script answers the requests of one slot after each other, each pair {n, ms} n
// times after so many milliseconds, the last one for ever.
func script(pairs ...[2]int) func(uint64) answer {
	return func(id uint64) answer {
		i := int(id) - 1
		for _, p := range pairs {
			if i -= p[0]; i < 0 {
				return answer{after: time.Duration(p[1]) * time.Millisecond, status: export.StatusOK}
			}
		}
		return answer{after: time.Duration(pairs[len(pairs)-1][1]) * time.Millisecond, status: export.StatusOK}
	}
}

// brief writes windows as "requests latency" in milliseconds.
func brief(windows ...window.Window) []string {
	var all []string
	for _, w := range windows {
		all = append(all, fmt.Sprintf("%d in %v at %v", w.Requests, time.Duration(w.EndNS-w.StartNS), w.Latency))
	}
	return all
}

// Windows and their number, computed by hand. A window is a second and a bit, so that no answer
// ends with it, or five requests.
func TestWindowsByHand(t *testing.T) {
	timed := window.Measure{Interval: time.Second, Stability: 0.1, MaxTrials: 6}
	counted := window.Measure{Mode: window.ByCount, WindowRequests: 5, Stability: 0.1, MaxTrials: 6}
	with := func(m window.Measure, change func(*window.Measure)) window.Measure {
		change(&m)
		return m
	}
	for _, tt := range []struct {
		name     string
		level    load.Level
		answers  func(uint64) answer
		measure  window.Measure
		windows  []string
		reported string
		stable   bool
		over     bool
		warning  string
	}{
		{
			// 100 ms ten times, 200 ms five times, and then eight a window.
			"stable in the end",
			load.Concurrency{N: 1},
			script([2]int{10, 100}, [2]int{5, 200}, [2]int{1, 125}), with(timed, func(m *window.Measure) { m.Interval = 1010 * time.Millisecond }),
			[]string{"10 in 1.01s at 100ms", "5 in 1.01s at 200ms", "8 in 1.01s at 125ms", "8 in 1.01s at 125ms", "8 in 1.01s at 125ms"},
			"24 in 3.03s at 125ms", true, false, "",
		},
		{
			// Latencies 100, 106 and 112 of perf_analyzer's own test, then 118: 112/100
			// is too far, 118/106 as well, 118/112 not.
			"latency drifts",
			load.Concurrency{N: 1},
			script([2]int{5, 100}, [2]int{5, 106}, [2]int{5, 112}, [2]int{1, 118}), counted,
			[]string{"5 in 500ms at 100ms", "5 in 530ms at 106ms", "5 in 560ms at 112ms", "5 in 590ms at 118ms", "5 in 590ms at 118ms"},
			"15 in 1.74s at 116ms", true, false, "",
		},
		{
			"never stable",
			load.Concurrency{N: 1},
			script([2]int{5, 100}, [2]int{5, 200}, [2]int{5, 100}, [2]int{5, 200}), with(counted, func(m *window.Measure) { m.MaxTrials = 4 }),
			[]string{"5 in 500ms at 100ms", "5 in 1s at 200ms", "5 in 500ms at 100ms", "5 in 1s at 200ms"},
			"15 in 2.5s at 166.666666ms", false, false, "not stable within 4 windows",
		},
		{
			// Each window lasts 600 ms and has a mean of 120 ms, but the third of its
			// latencies in order is 100 at first and then 150.
			"the mean is stable",
			load.Concurrency{N: 1},
			script([2]int{4, 100}, [2]int{1, 200}, [2]int{4, 100}, [2]int{1, 200}, [2]int{2, 75}, [2]int{3, 150}), with(counted, func(m *window.Measure) { m.MaxTrials = 3 }),
			[]string{"5 in 600ms at 120ms", "5 in 600ms at 120ms", "5 in 600ms at 120ms"},
			"15 in 1.8s at 120ms", true, false, "",
		},
		{
			"the median is not",
			load.Concurrency{N: 1},
			script([2]int{4, 100}, [2]int{1, 200}, [2]int{4, 100}, [2]int{1, 200}, [2]int{2, 75}, [2]int{3, 150}),
			with(counted, func(m *window.Measure) { m.Percentile, m.MaxTrials = 50, 3 }),
			[]string{"5 in 600ms at 100ms", "5 in 600ms at 100ms", "5 in 600ms at 150ms"},
			"15 in 1.8s at 100ms", false, false, "not stable within 3 windows", // 2×75, 8×100, 3×150, 2×200: the eighth
		},
		{
			// 10 per second and 10 ms: the first one is due after 100 ms and ends at
			// 110, so that 9 end in the first second; 10/9 is too far from 1.
			"a rate",
			load.Rate{PerSecond: 10},
			ok(10 * time.Millisecond), timed,
			[]string{"9 in 1s at 10ms", "10 in 1s at 10ms", "10 in 1s at 10ms", "10 in 1s at 10ms"},
			"30 in 3s at 10ms", true, false, "",
		},
		{
			"over the limit",
			load.Concurrency{N: 1},
			script([2]int{5, 100}, [2]int{5, 140}, [2]int{1, 180}), with(counted, func(m *window.Measure) { m.LatencyLimit = 180 * time.Millisecond }),
			[]string{"5 in 500ms at 100ms", "5 in 700ms at 140ms", "5 in 900ms at 180ms"},
			"15 in 2.1s at 140ms", false, true, "",
		},
		{
			"over the limit and stable",
			load.Concurrency{N: 1},
			ok(180 * time.Millisecond), with(counted, func(m *window.Measure) { m.LatencyLimit = 180 * time.Millisecond }),
			[]string{"5 in 900ms at 180ms", "5 in 900ms at 180ms", "5 in 900ms at 180ms"},
			"15 in 2.7s at 180ms", true, true, "",
		},
		{
			// One is at the limit, but they are stable, and together below it.
			"at the limit once",
			load.Concurrency{N: 1},
			script([2]int{10, 100}, [2]int{5, 105}, [2]int{5, 100}), with(counted, func(m *window.Measure) { m.LatencyLimit = 105 * time.Millisecond }),
			[]string{"5 in 500ms at 100ms", "5 in 500ms at 100ms", "5 in 525ms at 105ms"},
			"15 in 1.525s at 101.666666ms", true, false, "",
		},
		{
			// As above, and from the 20th on a request takes 50 ms.
			"only the throughput is stable",
			load.Rate{PerSecond: 10},
			script([2]int{19, 10}, [2]int{1, 50}),
			with(timed, func(m *window.Measure) { m.ThroughputSuffices, m.MaxTrials, m.Stability = true, 3, 0.2 }),
			[]string{"9 in 1s at 10ms", "10 in 1s at 10ms", "10 in 1s at 50ms"},
			"29 in 3s at 23.793103ms", true, false, "the throughput is stable, the latency is not",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, res, _, err := record(t, tt.answers, Config{Levels: []load.Level{tt.level}, Measure: tt.measure}, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, e := &res.Levels[0], &w.experiments[0]
			if got := brief(l.Windows...); !slices.Equal(got, tt.windows) {
				t.Errorf("windows %q, want %q", got, tt.windows)
			}
			if got := brief(l.Reported)[0]; got != tt.reported {
				t.Errorf("reported %q, want %q", got, tt.reported)
			}
			if l.Stable == nil || *l.Stable != tt.stable || l.OverLimit != tt.over || *e.Meta.Stable != tt.stable || e.Meta.OverLatencyLimit != tt.over {
				t.Errorf("stable %v, over the limit %v; want %v, %v", *l.Stable, l.OverLimit, tt.stable, tt.over)
			}
			if got := strings.Join(e.Meta.Warnings, "\n"); (got != "") != (tt.warning != "") || !strings.Contains(got, tt.warning) {
				t.Errorf("warnings %q, want %q", got, tt.warning)
			}
			if l.Unstable() != strings.HasPrefix(tt.warning, "not stable") {
				t.Errorf("unstable: %v", l.Unstable())
			}
		})
	}
}

// A window of so many requests begins with the first of them and ends with the
// last, as perf_analyzer meant it: a schedule's first request is not sent at once.
func TestWindowOfARequestCount(t *testing.T) {
	_, res, _, err := record(t, ok(30*time.Millisecond), Config{Levels: []load.Level{load.Rate{PerSecond: 2}}, Measure: window.Measure{Requests: 5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := brief(res.Levels[0].Windows...); !slices.Equal(got, []string{"5 in 2.03s at 30ms"}) {
		t.Errorf("%q, want four gaps of 500ms and one answer", got)
	}
}

// talkative answers with several responses; the last says only that there
// is no more.
type talkative struct{ *fakeServer }

func (s talkative) Decode(x *backend.Exchange) error {
	err := s.fakeServer.Decode(x)
	if n := len(x.Request.Responses); n > 0 {
		x.Request.Responses[n-1].Outputs[0].Value = export.Text("data: [DONE]\n\n")
	}
	return err
}

// From the requests and the boundaries of an export, and nothing else, analysis
// comes to the windows that the recorder steered by, and to its verdict.
func TestExportGivesTheWindows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 40 {
		spread := rnd.IntN(400) + 1
		answers := func(id uint64) answer {
			r := rand.New(rand.NewPCG(uint64(i), id))
			// No two answers at one instant, for then it is chance what is seen first.
			a := answer{after: 50*time.Millisecond + time.Duration(r.IntN(spread*1e6)), responses: 2 + r.IntN(4), status: export.StatusOK}
			if r.IntN(10) == 0 {
				a = answer{after: a.after, status: export.StatusHTTPError, msg: "busy"}
			}
			return a
		}
		m := window.Measure{
			Mode: window.Mode(i % 2), Interval: time.Duration(200+rnd.IntN(1000)) * time.Millisecond, WindowRequests: 5 + rnd.IntN(20),
			Stability: 0.3 * rnd.Float64(), MaxTrials: 3 + rnd.IntN(5), Percentile: []int{0, 50, 90}[i%3], LatencyLimit: time.Duration(rnd.IntN(2)*300) * time.Millisecond,
		}
		level := []load.Level{load.Concurrency{N: 1 + rnd.IntN(5)}, load.Rate{PerSecond: 5 + 20*rnd.Float64()}}[i/2%2]
		w, res, _, err := record(t, answers, Config{Backend: talkative{}, Levels: []load.Level{level}, Measure: m, Run: export.Run{ServiceKind: new("openai")}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := res.Levels[0]
		windows := pawindow.Cut(w.experiments[0].WindowBoundaries)
		stats := make([]pawindow.Stats, len(windows))
		for j := range w.requests {
			r := &w.requests[j]
			if r.Excluded() != export.NotExcluded {
				continue
			}
			end, responses, ok := pawindow.End(r, pawindow.NullLast(r, true))
			in := pawindow.Find(windows, end)
			if !ok || in < 0 {
				t.Fatalf("%d: request %d is in no window", i, r.ID)
			}
			stats[in].Add(time.Duration(end-r.StartNS), responses)
			if pawindow.Delayed(r) {
				stats[in].Delayed++
			}
		}
		var passes []pawindow.Pass
		var got []string
		for j := range stats {
			stats[j].Duration = windows[j].Duration()
			sum := stats[j].Summary(pawindow.Percentiles(m.Percentile))
			pass := pawindow.Pass{RequestsPerSecond: float64(sum.Requests) / sum.Duration.Seconds(), Latency: sum.Typical(m.Percentile)}
			passes = append(passes, pass)
			got = append(got, fmt.Sprintf("%d in %v at %v", sum.Requests, sum.Duration, pass.Latency))
			seen := l.Windows[j].Summary
			sum.Percentiles, seen.Percentiles = nil, nil
			if j < len(stats)-pawindow.StableOver { // when what came late counts no more
				continue
			}
			if diff := cmp.Diff(sum, seen); diff != "" {
				t.Errorf("%d: window %d (-export +recorder):\n%s", i, j, diff)
			}
		}
		if want := brief(l.Windows...); !slices.Equal(got, want) {
			t.Errorf("%d, %v: the export gives %q, the recorder had %q", i, level, got, want)
		}
		all := pawindow.Merge(pawindow.Reported(stats))
		sum := all.Summary(pawindow.Percentiles(m.Percentile))
		if got := fmt.Sprintf("%d in %v at %v", sum.Requests, sum.Duration, sum.Typical(m.Percentile)); got != brief(l.Reported)[0] {
			t.Errorf("%d: the export reports %q, the recorder %q", i, got, brief(l.Reported))
		}
		if diff := cmp.Diff(sum, l.Reported.Summary); diff != "" {
			t.Errorf("%d: reported (-export +recorder):\n%s", i, diff)
		}
		if v := m.Rule().Judge(len(passes), passes); !v.Done || v.Stable != *l.Stable {
			t.Errorf("%d: judged %+v, the recorder says stable %v", i, v, *l.Stable)
		}
	}
}

// A run that is stopped, or whose server fails, keeps its windows, of whatever kind
// they are. perf_analyzer loses all of it, or waits for ever for a count.
func TestWindowsThatBreakOff(t *testing.T) {
	count := window.Measure{Mode: window.ByCount, WindowRequests: 10, MaxTrials: 100}
	clock := window.Measure{Interval: time.Second, MaxTrials: 100}
	jitter := func(id uint64) answer {
		return answer{after: time.Duration(50+id%7) * time.Millisecond, status: export.StatusOK}
	}
	dead := func(id uint64) answer {
		if id > 35 {
			return answer{status: export.StatusConnectError, msg: "connection refused"}
		}
		return jitter(id)
	}
	silent := func(id uint64) answer {
		if id > 35 {
			return answer{after: time.Hour, status: export.StatusOK}
		}
		return jitter(id)
	}
	stop := func(stop chan struct{}, _ context.CancelFunc) {
		time.Sleep(1900 * time.Millisecond)
		close(stop)
	}
	for _, tt := range []struct {
		name    string
		answers func(uint64) answer
		after   func(chan struct{}, context.CancelFunc)
		ok      int
		err     string
	}{
		{"stopped", jitter, stop, 36, ""},
		{"stopped, the server silent", silent, stop, 35, ""},
		{"the server gone", dead, nil, 35, "connection refused"},
		{"the server silent", silent, nil, 35, "timeout"},
	} {
		for name, m := range map[string]window.Measure{"count windows": count, "time windows": clock} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				w, res, took, err := record(t, tt.answers, Config{Measure: m, RequestTimeout: 20 * time.Second, Grace: 5 * time.Second}, tt.after)
				pass := err == nil && tt.err == "timeout" && m.Mode == window.ByTime // the windows, without requests
				if !pass && ((err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err)) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				if took > time.Hour/2 {
					t.Errorf("it took %v", took)
				}
				l, e := res.Levels[0], w.experiments[0]
				if w.count("") != tt.ok || l.OK != tt.ok || w.run == nil || len(e.WindowBoundaries) != len(l.Windows)+1 {
					t.Errorf("%d of %d requests kept, %d boundaries of %d windows; want %d", w.count(""), len(w.requests), len(e.WindowBoundaries), len(l.Windows), tt.ok)
				}
				inside := 0
				for _, win := range l.Windows {
					inside += win.Requests
				}
				if inside != tt.ok || len(l.Windows) < 2 || (tt.after != nil || err != nil) != e.Meta.Interrupted {
					t.Errorf("windows %q, interrupted %v; want %d requests in several", brief(l.Windows...), e.Meta.Interrupted, tt.ok)
				}
			})
		}
	}
}
