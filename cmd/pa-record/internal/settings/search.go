package settings

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// limit reads the latency at which a search ends.
func (p *parser) limit(s *Settings) {
	s.LimitMS = p.c.Float64("latency-threshold")
	if !(s.LimitMS >= 0 && s.LimitMS <= maxLimitMS) {
		p.errorf("--latency-threshold %v: must be 0 (none) to %.0f ms", s.LimitMS, float64(maxLimitMS))
		return
	}
	s.Measurement.LatencyLimit = time.Duration(s.LimitMS * float64(time.Millisecond))
}

// maxLimitMS is a year.
const maxLimitMS = 365 * 24 * 3600 * 1000

// search sets the levels of a sweep that the flag sets, and the plan if the latency
// decides how many of them are measured. listed is false if the run does not follow the
// sweep's list.
func search[T int | float64](p *parser, s *Settings, flag string, sweep load.Sweep[T], level func(T) load.Level) (listed bool) {
	for _, x := range sweep.List {
		s.Levels = append(s.Levels, level(x))
	}
	limited, endless := s.Measurement.LatencyLimit > 0, sweep.List == nil
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
		s.Levels = []load.Level{level(sweep.Start), level(sweep.End)}
		s.LevelPlan = recorder.BinarySearch(sweep.Start, sweep.End, sweep.Step, level)
	case endless:
		s.Levels = []load.Level{level(sweep.Start)}
		fallthrough
	case limited && len(s.Levels) > 1:
		s.LevelPlan = recorder.LinearSearch(func(i int) (load.Level, bool) {
			x, ok := sweep.At(i)
			return level(x), ok
		})
	}
	if s.LevelPlan != nil && sweep.Start > 0 {
		s.Search = fmt.Sprintf("%v:%v:%v", sweep.Start, sweep.End, sweep.Step)
	}
	return !binary
}

// endless reports whether nothing but the latency ends a search.
func (s *loadSettings) endless() bool {
	return s.LevelPlan != nil && !s.BinarySearch && !s.AutoSweep && len(s.Levels) == 1
}
