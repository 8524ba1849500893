package window

import (
	"math"

	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Meter cuts a level's measurement into windows and decides when it is over.
//
// Windows are contiguous: window i+1 starts where window i ends. A successful
// request belongs to the window in which its last response came.
//
//	time window i:     [start + i·Interval, start + (i+1)·Interval]
//	count window:      until the latest end among WindowRequests requests
//	Measure.Requests:  from the first start to the last end of that many requests
type Meter struct {
	measure    Measure
	startNS    uint64 // of the first window
	curNS      uint64 // start of the present window
	maxEnd     uint64 // latest end seen
	firstStart uint64 // earliest start of a request
	untilNS    uint64 // of EndAt; 0 before
	current    stats  // of the present window
	windows    []Window
	// last holds the stats of the last windows, so that late requests can join them;
	// window i is at i modulo the length.
	last [pawindow.StableOver]stats
	// changed says which of the last windows must be summarized again.
	changed [pawindow.StableOver]bool
	done    bool
	verdict *pawindow.Verdict
}

// NewMeter returns a meter whose first window starts at nowNS. measure must have its
// defaults filled in.
func NewMeter(measure Measure, nowNS uint64) *Meter {
	return &Meter{measure: measure, startNS: nowNS, curNS: nowNS, maxEnd: nowNS, firstStart: math.MaxUint64}
}

// StartNS returns when the first window started.
func (m *Meter) StartNS() uint64 { return m.startNS }

// Done reports whether the measurement is over.
func (m *Meter) Done() bool { return m.done }

// Windows returns the windows that have ended.
func (m *Meter) Windows() []Window { return m.windows }

// Verdict returns the decision of the rule of stability, nil as long as there is none.
func (m *Meter) Verdict() *pawindow.Verdict { return m.verdict }

// Deadline returns when the present window ends by itself; ok is false when time does
// not end it, or the measurement is over.
func (m *Meter) Deadline() (ns uint64, ok bool) {
	switch {
	case m.done:
		return 0, false
	case m.untilNS > 0:
		return m.untilNS, true
	case m.measure.Requests > 0:
		return 0, false
	case m.measure.Duration > 0:
		return m.startNS + uint64(m.measure.Duration), true
	case m.measure.Mode == ByTime:
		return m.curNS + uint64(m.measure.Interval), true
	}
	return 0, false
}

// Add adds a successful request. With time windows, the caller keeps a request that
// ended after the deadline until it has called Tick. After the measurement is over,
// only requests that ended before its end may be added.
func (m *Meter) Add(s Sample) {
	if n := len(m.windows); n > 0 && (m.done || s.EndNS <= m.curNS) {
		m.addLate(&s)
		return
	}
	m.maxEnd = max(m.maxEnd, s.EndNS)
	m.firstStart = min(m.firstStart, s.EndNS-uint64(s.Latency))
	m.current.add(&s)
	if !m.measure.single() && m.measure.Mode == ByCount && m.current.latencies.n >= m.measure.WindowRequests {
		m.close(m.maxEnd)
	}
}

// addLate counts a request whose window had closed before it was added. The window's
// figures follow, except for the latency of a window that is not among the last; the
// verdict stays.
func (m *Meter) addLate(s *Sample) {
	for i := range m.windows {
		w := &m.windows[i]
		if s.EndNS > w.EndNS && i < len(m.windows)-1 {
			continue
		}
		w.Requests++
		w.Summary.Requests++
		w.setRate()
		if i >= len(m.windows)-len(m.last) {
			m.last[i%len(m.last)].add(s)
			m.changed[i%len(m.last)] = true
		}
		return
	}
}

// update brings the latencies of the last windows up to date.
func (m *Meter) update() {
	for i := max(len(m.windows)-len(m.last), 0); i < len(m.windows); i++ {
		if slot := i % len(m.last); m.changed[slot] {
			m.windows[i].summarize(&m.last[slot], m.measure.Percentile)
			m.changed[slot] = false
		}
	}
}

// EndAt makes the only window of the measurement end at an instant.
func (m *Meter) EndAt(ns uint64) { m.untilNS = ns }

// Tick closes the present window at its deadline.
func (m *Meter) Tick() {
	if end, ok := m.Deadline(); ok {
		m.close(end)
	}
}

// Finish ends the measurement: at the last end seen, or at nowNS when the present
// window holds no request and is the first.
func (m *Meter) Finish(nowNS uint64) {
	if m.done {
		m.update()
		return
	}
	switch {
	case m.current.latencies.n > 0:
		m.push(m.maxEnd)
	case len(m.windows) == 0:
		m.push(nowNS)
	}
	m.update()
	m.done = true
}

// EndNS returns where the last window ended, or the start when none has.
func (m *Meter) EndNS() uint64 {
	if len(m.windows) == 0 {
		return m.startNS
	}
	return m.windows[len(m.windows)-1].EndNS
}

// Fraction returns how much of the measurement is over, from 0 to 1; atMost says that
// it may end before the fraction is 1. ended is the number of requests so far.
func (m *Meter) Fraction(nowNS uint64, ended int) (f float64, atMost bool) {
	elapsed := float64(nowNS - min(m.startNS, nowNS))
	switch {
	case m.done:
		return 1, false
	case m.measure.Requests > 0:
		f = float64(ended) / float64(m.measure.Requests)
	case m.measure.Duration > 0:
		f = elapsed / float64(m.measure.Duration)
	case m.measure.Mode == ByTime:
		f, atMost = elapsed/(float64(m.measure.Interval)*float64(m.measure.MaxTrials)), true
	default:
		present := min(float64(m.current.latencies.n)/float64(m.measure.WindowRequests), 1)
		f, atMost = (float64(len(m.windows))+present)/float64(m.measure.MaxTrials), true
	}
	return min(f, 1), atMost
}

// close ends the present window and decides whether it was the last.
func (m *Meter) close(endNS uint64) {
	m.push(endNS)
	if m.measure.single() {
		m.done = true
		return
	}
	if v := m.measure.Rule().Judge(len(m.windows), m.passes()); v.Done {
		m.done, m.verdict = true, &v
	}
}

// passes returns the last windows in the form that the rule of stability takes.
func (m *Meter) passes() []pawindow.Pass {
	var passes []pawindow.Pass
	for _, w := range m.windows[max(len(m.windows)-pawindow.StableOver, 0):] {
		passes = append(passes, pawindow.Pass{RequestsPerSecond: w.RequestsPerSecond, Latency: w.Latency})
	}
	return passes
}

// push appends the present window, which ends at endNS, and starts the next one.
func (m *Meter) push(endNS uint64) {
	m.update()
	w := Window{StartNS: m.curNS, EndNS: endNS, Requests: m.current.latencies.n}
	if m.measure.Requests > 0 && w.Requests > 0 {
		w.StartNS = m.firstStart
	}
	w.setRate()
	w.summarize(&m.current, m.measure.Percentile)
	slot := &m.last[len(m.windows)%len(m.last)]
	*slot, m.current = m.current, *slot
	m.current.reset()
	m.windows = append(m.windows, w)
	m.curNS = endNS
}

// Reported returns the reported figures of the level: its last windows joined, as many
// as the rule of stability compares, with pooled latencies, and the mean times of their
// requests' phases (nil when unknown).
func (m *Meter) Reported() (Window, *pawindow.MeanTimes) {
	n := len(m.windows)
	if n == 0 {
		return Window{}, nil
	}
	first := max(n-len(m.last), 0)
	all := Window{StartNS: m.windows[first].StartNS, EndNS: m.windows[n-1].EndNS}
	var pooled stats
	for i := first; i < n; i++ {
		all.Requests += m.windows[i].Requests
		pooled.merge(&m.last[i%len(m.last)])
	}
	all.setRate()
	all.summarize(&pooled, m.measure.Percentile)
	all.Summary = pooled.summary(all.duration(), pawindow.Percentiles(m.measure.Percentile))
	return all, pooled.times.Means()
}

// OverLimit reports whether the level reached Measure.LatencyLimit: the latency of
// reported did, or a window's did before the windows were stable.
func (m *Meter) OverLimit(reported Window) bool {
	if m.measure.LatencyLimit == 0 {
		return false
	}
	v := m.verdict
	return reported.Requests > 0 && reported.Latency >= m.measure.LatencyLimit || v != nil && v.OverLimit && !v.Stable
}
