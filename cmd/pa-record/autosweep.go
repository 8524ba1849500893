package main

import (
	"cmp"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder"
)

// defaultSweep is how many requests an automatic sweep has in flight at the most,
// if nobody says.
const defaultSweep = 256

func (s *loadSettings) sweepConcurrency() int { return cmp.Or(s.MaxConcurrency, defaultSweep) }

func (p *settingsParser) autoSweep(s *settings) {
	s.AutoSweep = true
	like, _ := p.arrivals(s)
	s.levelPlan = recorder.AutoSweep(s.sweepConcurrency(), like)
	probe := like
	probe.PerSecond = 1
	if err := probe.Validate(); err != nil {
		p.errorf("--auto-sweep: %w", err)
	}
	if p.c.IsSet("repeat") {
		p.errorf("--auto-sweep and --repeat exclude each other: every run would find other rates; sweep once, and repeat the rates with --request-rate-range")
	}
}

// sweepNote says why an automatic sweep that is over has no rates; "" when it has,
// or is none.
func (s *loadSettings) sweepNote(res *recorder.Result) string {
	if !s.AutoSweep || len(res.Levels) != 2 || res.Interrupted {
		return ""
	}
	return fmt.Sprintf("%d requests at a time gave hardly more per second than one, so there are no rates to try between", s.sweepConcurrency())
}
