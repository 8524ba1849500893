package main

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// limit reads the latency at which a search ends.
func (p *settingsParser) limit(s *settings) {
	s.LimitMS = p.c.Float64("latency-threshold")
	if !(s.LimitMS >= 0 && s.LimitMS <= maxLimitMS) {
		p.errorf("--latency-threshold %v: must be 0 (none) to %.0f ms", s.LimitMS, float64(maxLimitMS))
		return
	}
	s.measure.LatencyLimit = time.Duration(s.LimitMS * float64(time.Millisecond))
}

// maxLimitMS is a year.
const maxLimitMS = 365 * 24 * 3600 * 1000

// search makes the levels of a sweep, which flag gave, and the plan if it depends
// on their latency how many of them are measured. listed is false when the sweep's
// list is not what is gone through.
func search[T int | float64](p *settingsParser, s *settings, flag string, sweep load.Sweep[T], level func(T) load.Level) (listed bool) {
	for _, x := range sweep.List {
		s.levels = append(s.levels, level(x))
	}
	limited, endless := s.measure.LatencyLimit > 0, sweep.List == nil
	binary := p.c.Bool("binary-search")
	switch {
	case binary && sweep.End == 0:
		p.errorf("--binary-search needs a range with an end: --%s start:end:step", flag)
		return false
	case binary && !limited:
		p.errorf("--binary-search needs -l, the latency that a level must stay below")
		return false
	case endless && !limited:
		p.errorf("--%s: an end of 0 needs -l, the latency at which to stop", flag)
		return false
	case binary:
		s.BinarySearch = true
		s.levels = []load.Level{level(sweep.Start), level(sweep.End)}
		s.levelPlan = recorder.BinarySearch(sweep.Start, sweep.End, sweep.Step, level)
	case endless:
		s.levels = []load.Level{level(sweep.Start)}
		fallthrough
	case limited && len(s.levels) > 1:
		s.levelPlan = recorder.LinearSearch(func(i int) (load.Level, bool) {
			x, ok := sweep.At(i)
			return level(x), ok
		})
	}
	if s.levelPlan != nil && sweep.Start > 0 {
		s.Search = fmt.Sprintf("%v:%v:%v", sweep.Start, sweep.End, sweep.Step)
	}
	return !binary
}

// endless reports whether nothing but the latency ends a search.
func (s *loadSettings) endless() bool {
	return s.levelPlan != nil && !s.BinarySearch && !s.AutoSweep && len(s.levels) == 1
}

// stopNote says that an unstable level was the last one because of
// --stop-on-unstable; "" when it was the last one anyway.
func (s *settings) stopNote(res *recorder.Result) string {
	n := len(res.Levels)
	if !s.Measure.StopOnUnstable || n == 0 || !res.Levels[n-1].Unstable() || s.levelPlan == nil && n == len(s.levels) {
		return ""
	}
	return fmt.Sprintf("%v was not stable, so no more levels were measured (--stop-on-unstable)", res.Levels[n-1].Load)
}

// searchNote says what came of a search; "" when there was none, or it was broken
// off.
func (s *settings) searchNote(res *recorder.Result) string {
	if s.LimitMS == 0 || res.Interrupted || len(res.Levels) == 0 || s.levelPlan == nil && res.Levels[0].Within() {
		return ""
	}
	var best, over *recorder.Level // the highest that is within, the lowest that is not
	for i := range res.Levels {
		switch l := &res.Levels[i]; {
		case l.Within():
			if best == nil || amount(l.Load) > amount(best.Load) {
				best = l
			}
		case over == nil || amount(l.Load) < amount(over.Load):
			over = l
		}
	}
	switch limit := s.measure.LatencyLimit; {
	case best == nil:
		return fmt.Sprintf("no level is below the latency limit of %v: %v %s", limit, over.Load, s.cameTo(over))
	case over == nil:
		return fmt.Sprintf("all levels are below the latency limit of %v: %v %s", limit, best.Load, s.cameTo(best))
	default:
		return fmt.Sprintf("%v is the highest level that was found below the latency limit of %v: it %s, %v %s", best.Load, limit, s.cameTo(best), over.Load, s.cameTo(over))
	}
}

// cameTo says what latency a level has.
func (s *settings) cameTo(l *recorder.Level) string {
	if l.Reported.Requests == 0 {
		return "gave no answer in time"
	}
	what := "an average"
	if pct := s.measure.Percentile; pct > 0 {
		what = fmt.Sprintf("a p%d", pct)
	}
	return fmt.Sprintf("came to %s of %v", what, l.Reported.Latency.Round(time.Microsecond))
}

// amount is by what levels of a search are ordered.
func amount(level load.Level) float64 {
	switch level := level.(type) {
	case load.Concurrency:
		return float64(level.N)
	case load.Rate:
		return level.PerSecond
	}
	return 0
}
