package settings

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/slo"
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
	text := p.c.String("slo")
	if text == "" {
		if p.c.IsSet("slo") {
			p.errorf("--slo is empty; give an objective such as 'ttft_p99<=200ms && itl_p99<=30ms', or drop it")
		}
		return
	}
	objective, err := slo.ParseLevel(text)
	switch {
	case err != nil:
		p.errorf("--slo: %w", err)
	case s.LimitMS > 0:
		p.errorf("--slo and --latency-threshold exclude each other; drop one")
	default:
		s.Objective, s.SLO = objective, objective.String()
	}
}

// limited reports whether latency ends the levels of a search.
func (s *Settings) limited() bool { return s.Measurement.LatencyLimit > 0 || s.Objective != nil }

// limitFlag returns the flag that ends the levels of a search.
func (s *Settings) limitFlag() string {
	if s.Objective != nil {
		return "slo"
	}
	return "latency-threshold"
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
	limited, endless := s.limited(), sweep.List == nil
	binary := p.c.Bool("binary-search")
	switch {
	case binary && sweep.End == 0:
		p.errorf("--binary-search needs a range with an end: --%s start:end:step", flag)
		return false
	case binary && !limited && !p.c.IsSet("slo"): // else the mistake is in the objective
		p.errorf("--binary-search needs -l, the latency that a level must stay below, or --slo, the objective that it must meet")
		return false
	case endless && !limited && !p.c.IsSet("slo"):
		p.errorf("--%s: an end of 0 needs -l, the latency at which to stop, or --slo", flag)
		return false
	case s.Objective != nil && len(sweep.List) == 1:
		p.errorf("--slo chooses among levels, and --%s has one: give a range, or judge the level with pa-analyze report --slo", flag)
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
