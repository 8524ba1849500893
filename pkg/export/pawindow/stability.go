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

// A Rule decides when a level was measured long enough. The zero value requires three
// windows that are exactly equal.
type Rule struct {
	// Spread bounds the differences of the last windows: max/min − 1 of their
	// throughput and of their latency (0.1 is 10 %).
	Spread float64
	// Limit is the latency from which on a level is over the limit; 0 means no limit.
	Limit time.Duration
	// MaxTrials bounds the number of windows; 0 means no bound.
	MaxTrials int
	// ThroughputSuffices accepts a level whose trials are used up when the
	// throughput is stable and the latency is not. perf_analyzer does so where
	// requests are sent asynchronously.
	ThroughputSuffices bool
}

// A Verdict is the result of a Rule for the windows so far.
type Verdict struct {
	// Done reports that no more windows are needed: the level is stable, over the
	// limit, or out of trials.
	Done bool
	// Stable reports that throughput and latency of the last windows are within the
	// spread.
	Stable bool
	// OverLimit reports that one of the last windows has a latency at the limit or
	// above.
	OverLimit bool
	// LatencyUnstable reports that the level counts as stable with an unstable
	// latency: see Rule.ThroughputSuffices.
	LatencyUnstable bool
}

// Judge applies the rule after a window of a level. trials is the number of windows so far.
// last holds the last three windows in order, or all if there are fewer; Judge ignores
// earlier ones.
//
//	stable = no throughput is 0, max/min ≤ 1 + spread of throughput and of latency
//	over   = a latency ≥ limit
//
// both over three windows, and false as long as there are fewer (perf_analyzer
// 2.60, inference_profiler.cc). A window without requests is not over the limit,
// because its latency is unknown. perf_analyzer counts it as over the limit and ends the run.
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

// within reports whether a figure of the windows is within the spread and every window has
// requests. Figures that are all 0 are within it.
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
