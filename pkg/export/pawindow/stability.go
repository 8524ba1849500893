package pawindow

import "time"

// StableOver is how many windows, the last ones, the stability rule looks at. A
// level is reported over as many: over fewer when it has fewer.
const StableOver = 3

// A Pass holds the statistics of a finished window that the rules use.
type Pass struct {
	// RequestsPerSecond is 0 in a window in which no request ended.
	RequestsPerSecond float64
	// Latency is the mean, or the percentile that was asked for, of the requests
	// that ended in the window; without one it means nothing.
	Latency time.Duration
}

// A Rule says when a level has been measured for long enough. The zero value asks for
// three windows that are exactly equal.
type Rule struct {
	// Spread is how far the last windows may lie apart: max/min − 1 of their
	// throughput and of their latency (0.1 is 10 %).
	Spread float64
	// Limit is the latency threshold: from there on a level is over it. 0 is none.
	Limit time.Duration
	// MaxTrials is how many windows there are at the most; 0 is no bound.
	MaxTrials int
	// ThroughputSuffices accepts a level whose trials are used up when the
	// throughput is stable and the latency is not. perf_analyzer does so where
	// requests are sent asynchronously.
	ThroughputSuffices bool
}

// A Verdict is the result of a Rule for the windows so far.
type Verdict struct {
	// Done says that no more windows are wanted: the level is stable, over the
	// limit, or out of trials.
	Done bool
	// Stable says that throughput and latency of the last windows are within the
	// spread.
	Stable bool
	// OverLimit says that one of the last windows has a latency at the limit or
	// above.
	OverLimit bool
	// LatencyUnstable says that the level counts as stable, though its latency is
	// not: see Rule.ThroughputSuffices.
	LatencyUnstable bool
}

// Judge applies the rule when a window of a level has ended: trials is how many of
// them there are by now, last are the last three in their order, or all while there
// are fewer; more are ignored.
//
//	stable = no throughput is 0, max/min ≤ 1 + spread of throughput and of latency
//	over   = a latency ≥ limit
//
// both over three windows, and false as long as there are fewer (perf_analyzer
// 2.60, inference_profiler.cc). A window without requests is over no limit: nothing
// is known of its latency. perf_analyzer says that it is, and ends the run.
func (r Rule) Judge(trials int, last []Pass) Verdict {
	var v Verdict
	enough := len(last) >= StableOver
	if enough {
		last = last[len(last)-StableOver:]
		v.Stable = within(last, r.Spread, throughput) && within(last, r.Spread, latency)
		v.OverLimit = r.over(last)
	}
	v.Done = v.Stable || v.OverLimit || r.MaxTrials > 0 && trials >= r.MaxTrials
	if r.ThroughputSuffices && v.Done && !v.Stable && enough && within(last, r.Spread, throughput) {
		v.Stable, v.LatencyUnstable = true, true
	}
	return v
}

// over reports whether the latency of one of the windows is at the limit or above.
func (r Rule) over(windows []Pass) bool {
	for _, w := range windows {
		if r.Limit > 0 && w.RequestsPerSecond > 0 && w.Latency >= r.Limit {
			return true
		}
	}
	return false
}

func throughput(p Pass) float64 { return p.RequestsPerSecond }
func latency(p Pass) float64    { return float64(p.Latency) }

// within reports whether a figure of windows is within the spread, and none of
// them is without requests. Of two that are 0, none is larger than the other.
func within(windows []Pass, spread float64, figure func(Pass) float64) bool {
	lo, hi := figure(windows[0]), figure(windows[0])
	for _, w := range windows {
		if w.RequestsPerSecond == 0 {
			return false
		}
		lo, hi = min(lo, figure(w)), max(hi, figure(w))
	}
	return hi == lo || hi/lo <= 1+spread
}
