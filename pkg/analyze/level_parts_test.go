package analyze

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
)

func TestWindows(t *testing.T) {
	type row struct {
		from, to   float64 // since the level's start, in seconds
		ok, failed int
		requests   float64 // per second
	}
	for _, tt := range []struct {
		name    string
		cfg     Config
		bounds  []uint64
		want    []row
		problem string
	}{
		// The request of 4 s ends at 5 s: in the second window, as the one of
		// 9 s, which ends with the level.
		{"halves", Config{Windows: Windows{Every: 5 * time.Second}}, nil, []row{{0, 5, 5, 0, 1}, {5, 10, 5, 1, 6. / 5}}, ""},
		{"a rest of half a window is one", Config{Windows: Windows{Every: 4 * time.Second}}, nil, []row{{0, 4, 4, 0, 1}, {4, 8, 4, 0, 1}, {8, 10, 2, 1, 1.5}}, ""},
		{"a smaller rest joins the previous window", Config{Windows: Windows{Every: 4500 * time.Millisecond}}, nil, []row{{0, 4.5, 5, 0, 5. / 4.5}, {4.5, 10, 5, 1, 6. / 5.5}}, ""},
		{"longer than the level", Config{Windows: Windows{Every: time.Hour}}, nil, []row{{0, 10, 10, 1, 1.1}}, ""},
		{"of a part", Config{Windows: Windows{Every: 2 * time.Second}, Selection: Selection{Window: &Interval{2 * time.Second, 6 * time.Second}}}, nil, []row{{2, 4, 2, 0, 1}, {4, 6, 2, 0, 1}}, ""},
		{"recorded", Config{Windows: Windows{Recorded: true}}, []uint64{sec(1), sec(2), sec(4.5)}, []row{{1, 2, 1, 0, 1}, {2, 4.5, 3, 0, 1.2}}, ""},
		{"recorded, of a part", Config{Windows: Windows{Recorded: true}, Selection: Selection{Window: &Interval{1500 * time.Millisecond, 4 * time.Second}}}, []uint64{sec(1), sec(2), sec(4.5), sec(9)}, []row{{1.5, 2, 0, 0, 0}, {2, 4, 2, 0, 1}}, ""},
		{"recorded, outside the part", Config{Windows: Windows{Recorded: true}, Selection: Selection{Window: &Interval{From: 9 * time.Second}}}, []uint64{sec(1), sec(2)}, nil, ""},
		{"none recorded", Config{Windows: Windows{Recorded: true}}, nil, nil, "the file holds no windows in order; --windows takes a length too"},
		{"a placeholder recorded", Config{Windows: Windows{Recorded: true}}, []uint64{0, math.MaxUint64}, nil, "holds no windows"},
		{"recorded backward", Config{Windows: Windows{Recorded: true}}, []uint64{sec(2), sec(1), sec(3)}, nil, "holds no windows"},
		{"too many", Config{Windows: Windows{Every: 1}}, nil, nil, "windows of 0.000000001s make 10000000000 in 10s; at most 10000 are possible"},
		{"too many recorded", Config{Windows: Windows{Recorded: true}}, ascending(10_002), nil, "10001 windows; at most 10000 are possible"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reader("", steps())
			r.Header.Experiments[0].WindowBoundaries = tt.bounds
			again := *r
			e := &analyzed(t, r, tt.cfg).Experiments[0]
			if tt.cfg.Selection.IsZero() {
				sameBounds(t, &again, tt.cfg.Windows, e)
			}
			if tt.problem != "" {
				if e.Problem == nil || !strings.Contains(e.Problem.Error(), tt.problem) || e.Windows != nil {
					t.Errorf("problem %v, want %q", e.Problem, tt.problem)
				}
				return
			}
			if e.Problem != nil || len(e.Windows) != len(tt.want) {
				t.Fatalf("%d windows, %v, want %d", len(e.Windows), e.Problem, len(tt.want))
			}
			for i, want := range tt.want {
				w := &e.Windows[i]
				if w.Span != (figure.Span{FromNS: sec(want.from), ToNS: sec(want.to)}) || w.OffsetNS != int64(math.Round(want.from*1e9)) {
					t.Errorf("window %d: %v at %d, want %v to %v", i, w.Span, w.OffsetNS, want.from, want.to)
				}
				if w.OK != want.ok || w.Failed != want.failed || !close12(w.Throughput.Requests.PerSecond, want.requests) {
					t.Errorf("window %d: %d ok, %d failed, %v requests/s, want %+v", i, w.OK, w.Failed, w.Throughput.Requests.PerSecond, want)
				}
				if s := w.Metric(answer.TTFT); want.ok > 0 && (s == nil || s.N != want.ok || s.P(50) != 4e8) || want.ok == 0 && s != nil {
					t.Errorf("window %d: TTFT %+v, want %d of 400 ms", i, s, want.ok)
				}
			}
		})
	}
}

// ascending returns n instants around the instants of steps.
func ascending(n int) []uint64 {
	b := make([]uint64, n)
	for i := range b {
		b[i] = sec(0) + uint64(i)
	}
	return b
}

// Windows one after the other hold each request once, and all that flowed.
func TestWindowsAddUp(t *testing.T) {
	r := steps()
	whole := analyzed(t, reader("", r), Config{Selection: Selection{Window: &Interval{}}}).Experiments[0]
	for _, every := range []time.Duration{300 * time.Millisecond, time.Second, 1700 * time.Millisecond, 7 * time.Second} {
		e := analyzed(t, reader("", r), Config{Windows: Windows{Every: every}}).Experiments[0]
		ok, failed, requests, tokens := 0, 0, 0.0, 0.0
		for i := range e.Windows {
			w := &e.Windows[i]
			ok += w.OK
			failed += w.Failed
			requests += w.Throughput.Requests.PerSecond * w.Duration().Seconds()
			tokens += w.Throughput.OutputTokens.PerSecond * w.Duration().Seconds()
		}
		s := whole.Selected.Duration().Seconds()
		if ok != e.OK || failed != e.FailedRequests() || !close12(requests, whole.Throughput.Requests.PerSecond*s) || !close12(tokens, whole.Throughput.OutputTokens.PerSecond*s) {
			t.Errorf("windows of %v: %d ok, %d failed, %v requests, %v tokens", every, ok, failed, requests, tokens)
		}
	}
}

// sameBounds checks that Bounds returns the windows of e, the only level of r, or its problem.
func sameBounds(t *testing.T, r *memrun.Reader, w Windows, e *Experiment) {
	t.Helper()
	all, err := w.Bounds(context.Background(), r)
	if e.Problem != nil {
		if err == nil || !strings.HasSuffix(err.Error(), e.Problem.Error()) {
			t.Errorf("Bounds: %v, want %v", err, e.Problem)
		}
		return
	}
	if err != nil || len(all) != 1 || len(all[0].Windows) != len(e.Windows) {
		t.Fatalf("Bounds: %v, %v, want %d windows", all, err, len(e.Windows))
	}
	for i := range e.Windows {
		if all[0].Windows[i] != e.Windows[i].Span {
			t.Errorf("Bounds: window %d is %v, want %v", i, all[0].Windows[i], e.Windows[i].Span)
		}
	}
}
