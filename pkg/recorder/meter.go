package recorder

import (
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// A meter cuts a level's measurement into windows and says when it is over. It
// knows no clock: it is fed instants, in Unix ns.
//
// Windows are contiguous: window i+1 starts where window i ends. A successful
// request belongs to the window in which its last response came.
//
//	time window i:  [start + i·Interval, start + (i+1)·Interval]
//	count window:   until the latest end among WindowRequests requests
//	one window of so many requests: from their first start to their last end
type meter struct {
	m          Measure
	startNS    uint64 // of the first window
	curNS      uint64 // start of the present window
	maxEnd     uint64 // latest end seen
	firstStart uint64 // earliest start of a request
	lat        tally  // of the present window
	windows    []Window
	// last are the tallies of the last windows, that of index i at i modulo
	// their number, so that requests that come late can join them.
	last [pawindow.StableOver]tally
	// moved says which of these are to be computed again.
	moved   [pawindow.StableOver]bool
	done    bool
	verdict *pawindow.Verdict // nil as long as no rule has decided
}

func newMeter(m Measure, nowNS uint64) *meter {
	return &meter{m: m, startNS: nowNS, curNS: nowNS, maxEnd: nowNS, firstStart: math.MaxUint64}
}

// single says that one window holds the whole level.
func (t *meter) single() bool { return t.m.Requests > 0 || t.m.Duration > 0 }

// longest returns how long the measurement of a level takes at most, if time decides
// it; else 0.
func (m *Measure) longest() time.Duration {
	switch {
	case m.Requests > 0:
		return 0
	case m.Duration > 0:
		return m.Duration
	case m.Mode == TimeWindows && m.Interval <= math.MaxInt64/time.Duration(m.MaxTrials):
		return m.Interval * time.Duration(m.MaxTrials)
	}
	return 0
}

// deadline returns when the present window ends by itself, if time decides it
// and the measurement is not over.
func (t *meter) deadline() (ns uint64, ok bool) {
	switch {
	case t.done || t.m.Requests > 0:
		return 0, false
	case t.m.Duration > 0:
		return t.startNS + uint64(t.m.Duration), true
	case t.m.Mode == TimeWindows:
		return t.curNS + uint64(t.m.Interval), true
	}
	return 0, false
}

// add takes a successful request that ended at endNS. With time windows the
// caller keeps back what ended after the deadline until tick has been called.
// After the measurement is over only ends up to its end count.
func (t *meter) add(s sample) {
	if n := len(t.windows); n > 0 && (t.done || s.endNS <= t.curNS) {
		t.late(&s)
		return
	}
	t.maxEnd = max(t.maxEnd, s.endNS)
	t.firstStart = min(t.firstStart, s.endNS-uint64(s.latency))
	t.lat.take(&s)
	if !t.single() && t.m.Mode == CountWindows && t.lat.n >= t.m.WindowRequests {
		t.close(t.maxEnd)
	}
}

// late counts a request that was handed in after its window had closed. What the
// window comes to follows, but for the latency of one that is not among the last
// ones; what was decided on it stays.
func (t *meter) late(s *sample) {
	for i := range t.windows {
		w := &t.windows[i]
		if s.endNS > w.EndNS && i < len(t.windows)-1 {
			continue
		}
		w.Requests++
		w.Summary.Requests++
		w.rate()
		if i >= len(t.windows)-len(t.last) {
			t.last[i%len(t.last)].take(s)
			t.moved[i%len(t.last)] = true
		}
		return
	}
}

// settle brings the latencies of the last windows up to date.
func (t *meter) settle() {
	for i := max(len(t.windows)-len(t.last), 0); i < len(t.windows); i++ {
		if slot := i % len(t.last); t.moved[slot] {
			t.conclude(&t.windows[i], &t.last[slot])
			t.moved[slot] = false
		}
	}
}

// tick closes the present window at its deadline.
func (t *meter) tick() {
	if end, ok := t.deadline(); ok {
		t.close(end)
	}
}

// finish ends the measurement where it is: at the last end seen, or at nowNS
// when the present window holds no request.
func (t *meter) finish(nowNS uint64) {
	if t.done {
		t.settle()
		return
	}
	switch {
	case t.lat.n > 0:
		t.push(t.maxEnd)
	case len(t.windows) == 0:
		t.push(nowNS)
	}
	t.settle()
	t.done = true
}

// endNS returns where the measurement ended, once it is over.
func (t *meter) endNS() uint64 {
	if len(t.windows) == 0 {
		return t.startNS
	}
	return t.windows[len(t.windows)-1].EndNS
}

// fraction returns how much of the measurement is over, from 0 to 1; atMost says
// that it may end before it is all over. ended is the number of requests so far.
func (t *meter) fraction(nowNS uint64, ended int) (f float64, atMost bool) {
	elapsed := float64(nowNS - min(t.startNS, nowNS))
	switch {
	case t.done:
		return 1, false
	case t.m.Requests > 0:
		f = float64(ended) / float64(t.m.Requests)
	case t.m.Duration > 0:
		f = elapsed / float64(t.m.Duration)
	case t.m.Mode == TimeWindows:
		f, atMost = elapsed/(float64(t.m.Interval)*float64(t.m.MaxTrials)), true
	default:
		window := min(float64(t.lat.n)/float64(t.m.WindowRequests), 1)
		f, atMost = (float64(len(t.windows))+window)/float64(t.m.MaxTrials), true
	}
	return min(f, 1), atMost
}

// close ends the present window and decides whether it was the last.
func (t *meter) close(endNS uint64) {
	t.push(endNS)
	if t.single() {
		t.done = true
		return
	}
	if v := t.m.rule().Judge(len(t.windows), t.passes()); v.Done {
		t.done, t.verdict = true, &v
	}
}

// passes returns the last windows as the rule of stability looks at them.
func (t *meter) passes() []pawindow.Pass {
	var passes []pawindow.Pass
	for _, w := range t.windows[max(len(t.windows)-pawindow.StableOver, 0):] {
		passes = append(passes, pawindow.Pass{RequestsPerSecond: w.RequestsPerSecond, Latency: w.Latency})
	}
	return passes
}

func (t *meter) push(endNS uint64) {
	t.settle()
	w := Window{StartNS: t.curNS, EndNS: endNS, Requests: t.lat.n}
	if t.m.Requests > 0 && t.lat.n > 0 {
		w.StartNS = t.firstStart
	}
	w.rate()
	t.conclude(&w, &t.lat)
	slot := &t.last[len(t.windows)%len(t.last)]
	*slot, t.lat = t.lat, *slot
	t.lat.clear()
	t.windows = append(t.windows, w)
	t.curNS = endNS
}

// reported returns what the level comes to: its last windows together, as many as
// the rule of stability looks at, and the means of where their time went. Latencies
// are pooled.
func (t *meter) reported() (Window, *pawindow.MeanTimes) {
	n := len(t.windows)
	if n == 0 {
		return Window{}, nil
	}
	first := max(n-len(t.last), 0)
	all := Window{StartNS: t.windows[first].StartNS, EndNS: t.windows[n-1].EndNS}
	var pooled tally
	for i := first; i < n; i++ {
		all.Requests += t.windows[i].Requests
		pooled.join(&t.last[i%len(t.last)])
	}
	all.rate()
	t.conclude(&all, &pooled)
	all.Summary = pooled.window(all.duration(), pawindow.Percentiles(t.m.Percentile))
	return all, pooled.times.Means()
}

// conclude computes what the rules and reports look at.
func (t *meter) conclude(w *Window, of *tally) {
	var percentiles []int
	if t.m.Percentile > 0 {
		percentiles = []int{t.m.Percentile}
	}
	w.Summary = of.window(w.duration(), percentiles)
	w.Latency = w.Summary.Typical(t.m.Percentile)
}

// duration is how long the window was.
func (w *Window) duration() time.Duration {
	return pawindow.Window{StartNS: w.StartNS, EndNS: w.EndNS}.Duration()
}

// overLimit reports whether the level is over the latency limit: what it comes to
// is at the limit or above, or one of its windows was before they were stable.
func (t *meter) overLimit(reported Window) bool {
	if t.m.LatencyLimit == 0 {
		return false
	}
	v := t.verdict
	return reported.Requests > 0 && reported.Latency >= t.m.LatencyLimit || v != nil && v.OverLimit && !v.Stable
}

// rate computes the throughput of a window from its requests.
func (w *Window) rate() {
	if w.EndNS > w.StartNS {
		w.RequestsPerSecond = float64(w.Requests) / time.Duration(w.EndNS-w.StartNS).Seconds()
	}
}
