package settings

import (
	"cmp"

	"github.com/pa-tools/pa/pkg/recorder"
)

// defaultSweep is the highest concurrency of an automatic sweep without
// --max-concurrency.
const defaultSweep = 256

func (s *loadSettings) SweepConcurrency() int { return cmp.Or(s.MaxConcurrency, defaultSweep) }

func (p *parser) autoSweep(s *Settings) {
	s.AutoSweep = true
	like, _ := p.arrivals(s)
	s.LevelPlan = recorder.AutoSweep(s.SweepConcurrency(), like)
	probe := like
	probe.PerSecond = 1
	if err := probe.Validate(); err != nil {
		p.errorf("--auto-sweep: %w", err)
	}
	if p.c.IsSet("repeat") {
		p.errorf("--auto-sweep and --repeat exclude each other: every run would find other rates; sweep once, and repeat the rates with --request-rate-range")
	}
}
