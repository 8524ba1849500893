package window

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Measure says when the measurement of a level begins a new window and when it is
// over. Exactly one of Requests, Times, All, Duration and Mode decides: a count of
// requests, else Duration > 0, else windows. A level with an end of its own
// (load.Timetable, load.Sessions, load.Periodic) is measured to that end, in one
// window, unless Duration ends it before.
type Measure struct {
	// Requests sends exactly that many requests per level, in one window.
	Requests int
	// Times sends that many requests per slot of a concurrency, or per request per
	// second of a rate, rounded up.
	Times int
	// All sends each entry once. A concurrency may exceed the number of entries.
	All bool
	// Duration measures one window of that length.
	Duration time.Duration

	// Mode chooses what closes a window when none of the above is set.
	Mode Mode
	// Interval is the length of a time window; 0 means 5 s. perf_analyzer
	// sleeps 1.2 times as long; this does not.
	Interval time.Duration
	// WindowRequests is the number of successful requests that closes a count
	// window; 0 means 50.
	WindowRequests int
	// Stability is the tolerated spread of the last three windows, as
	// max/min − 1 of throughput and of latency (0.1 is 10 %): see pawindow.Rule.
	Stability float64
	// MaxTrials bounds the number of windows per level; 0 means 10.
	MaxTrials int
	// Percentile judges stability by that percentile of latency (1–99) instead of
	// the mean; 0 means the mean.
	Percentile int
	// LatencyLimit, if not 0, ends a level when the latency of one of its last three
	// windows reaches it. See recorder.Level.OverLimit.
	LatencyLimit time.Duration
	// ThroughputSuffices accepts a level that has used up its windows when the
	// throughput of the last three is stable and only their latency is not. The
	// recorder then adds a warning. It is perf_analyzer's rule for requests that are
	// sent asynchronously.
	ThroughputSuffices bool
	// StatefulThroughputSuffices sets ThroughputSuffices if the model keeps state.
	// perf_analyzer sends requests to such a model asynchronously by default.
	StatefulThroughputSuffices bool
}

// Mode names what closes a measurement window.
type Mode uint8

// The modes and their names are perf_analyzer's.
const (
	ByTime  Mode = iota // after Measure.Interval
	ByCount             // after Measure.WindowRequests requests
)

// String returns "time_windows" or "count_windows".
func (m Mode) String() string {
	if m == ByCount {
		return "count_windows"
	}
	return "time_windows"
}

// Counted reports whether a number of requests ends the measurement.
func (m *Measure) Counted() bool { return m.Requests > 0 || m.Times > 0 || m.All }

// Fixed reports whether a number of requests or a duration ends the measurement, and not
// the figures of its windows.
func (m *Measure) Fixed() bool { return m.Counted() || m.Duration > 0 }

// Validate reports all mistakes of m at once, joined.
func (m *Measure) Validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(m.Requests < 0, "request count %d: must be positive", m.Requests)
	add(m.Duration < 0, "duration %v: must be positive", m.Duration)
	add(m.Times < 0, "request count of %d times the level: must be positive", m.Times)
	add(m.Requests > 0 && m.Times > 0 || m.All && (m.Requests > 0 || m.Times > 0), "a request count, one in times of the level and all entries exclude each other; drop all but one")
	add(m.Counted() && m.Duration > 0, "a request count and a duration exclude each other; drop one")
	add(m.Interval < 0, "measurement interval %v: must be positive", m.Interval)
	add(m.WindowRequests < 0, "measurement request count %d: must be positive", m.WindowRequests)
	add(m.Stability < 0, "stability %v: must not be negative", m.Stability)
	add(m.LatencyLimit < 0, "latency limit %v: must not be negative", m.LatencyLimit)
	add(m.MaxTrials < 0, "max trials %d: must be positive", m.MaxTrials)
	add(m.Percentile < 0 || m.Percentile > 99, "percentile %d: must be 1 to 99", m.Percentile)
	return errors.Join(errs...)
}

// WithDefaults returns m with the defaults of Interval, WindowRequests and MaxTrials
// filled in. NewMeter needs them.
func (m Measure) WithDefaults() Measure {
	if m.Interval == 0 {
		m.Interval = 5 * time.Second
	}
	if m.WindowRequests == 0 {
		m.WindowRequests = 50
	}
	if m.MaxTrials == 0 {
		m.MaxTrials = 10
	}
	return m
}

// Rule returns the rule of stability that decides on windows.
func (m *Measure) Rule() pawindow.Rule {
	return pawindow.Rule{Spread: m.Stability, Limit: m.LatencyLimit, MaxTrials: m.MaxTrials, ThroughputSuffices: m.ThroughputSuffices}
}

// Longest returns how long the measurement of a level takes at most; 0 when time does
// not end it.
func (m *Measure) Longest() time.Duration {
	switch {
	case m.Requests > 0:
		return 0
	case m.Duration > 0:
		return m.Duration
	case m.Mode == ByTime && m.Interval <= math.MaxInt64/time.Duration(m.MaxTrials):
		return m.Interval * time.Duration(m.MaxTrials)
	}
	return 0
}

// single reports whether one window holds the whole level.
func (m *Measure) single() bool { return m.Requests > 0 || m.Duration > 0 }
