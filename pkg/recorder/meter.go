package recorder

import "time"

// stableWindows is the number of windows that the stability rule looks at.
const stableWindows = 3

// A meter cuts a level's measurement into windows and says when it is over. It
// knows no clock: it is fed instants, in Unix ns.
//
// Windows are contiguous: window i+1 starts where window i ends. A successful
// request belongs to the window in which its last response came.
//
//	time window i:  [start + i·Interval, start + (i+1)·Interval]
//	count window:   until the latest end among WindowRequests requests
type meter struct {
	m       Measure
	startNS uint64    // of the first window
	curNS   uint64    // start of the present window
	maxEnd  uint64    // latest end seen
	lat     latencies // of the present window
	windows []Window
	done    bool
	stable  *bool
}

func newMeter(m Measure, nowNS uint64) *meter {
	return &meter{m: m, startNS: nowNS, curNS: nowNS, maxEnd: nowNS}
}

// single says that one window holds the whole level.
func (t *meter) single() bool { return t.m.Requests > 0 || t.m.Duration > 0 }

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
func (t *meter) add(endNS uint64, latency time.Duration) {
	if n := len(t.windows); n > 0 && (t.done || endNS <= t.curNS) {
		t.late(endNS)
		return
	}
	t.maxEnd = max(t.maxEnd, endNS)
	t.lat.add(latency)
	if !t.single() && t.m.Mode == CountWindows && t.lat.n >= t.m.WindowRequests {
		t.close(t.maxEnd)
	}
}

// late counts a request that was handed in after its window had closed. The
// window's rate follows; its latency, and what was decided on it, stay.
func (t *meter) late(endNS uint64) {
	for i := range t.windows {
		w := &t.windows[i]
		if endNS <= w.EndNS || i == len(t.windows)-1 {
			w.Requests++
			w.rate()
			return
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
		return
	}
	switch {
	case t.lat.n > 0:
		t.push(t.maxEnd)
	case len(t.windows) == 0:
		t.push(nowNS)
	}
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
	stable := isStable(t.windows, t.m.Stability)
	if stable || len(t.windows) >= t.m.MaxTrials {
		t.done, t.stable = true, &stable
	}
}

func (t *meter) push(endNS uint64) {
	w := Window{StartNS: t.curNS, EndNS: endNS, Requests: t.lat.n}
	w.rate()
	if t.lat.n > 0 {
		w.Latency = t.lat.typical(t.m.Percentile)
	}
	t.windows = append(t.windows, w)
	t.curNS = endNS
	t.lat.reset()
}

func (w *Window) rate() {
	if w.EndNS > w.StartNS {
		w.RequestsPerSecond = float64(w.Requests) / time.Duration(w.EndNS-w.StartNS).Seconds()
	}
}

// isStable is perf_analyzer's rule: of the last three windows none is empty,
// and max/min ≤ 1 + spread for throughput and for latency.
func isStable(windows []Window, spread float64) bool {
	if len(windows) < stableWindows {
		return false
	}
	last := windows[len(windows)-stableWindows:]
	minR, maxR := last[0].RequestsPerSecond, last[0].RequestsPerSecond
	minL, maxL := last[0].Latency, last[0].Latency
	for _, w := range last {
		if w.Requests == 0 || w.RequestsPerSecond == 0 {
			return false
		}
		minR, maxR = min(minR, w.RequestsPerSecond), max(maxR, w.RequestsPerSecond)
		minL, maxL = min(minL, w.Latency), max(maxL, w.Latency)
	}
	return maxR <= minR*(1+spread) && float64(maxL) <= float64(minL)*(1+spread)
}
