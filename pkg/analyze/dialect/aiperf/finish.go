package aiperf

import (
	"errors"
	"fmt"
	"math"
)

// finish makes the metrics when all requests have been read.
func (a *analysis) finish() {
	c := &a.c
	from, to := float64(a.startNS), float64(a.endNS)
	phase := (to - from) * 1e-9
	if a.startNS == 0 || a.endNS <= a.startNS || a.rep.cancelled {
		phase = 0
	}
	if a.startNS == 0 {
		from = c.firstIssued
	}
	if a.endNS == 0 || a.rep.cancelled {
		to = c.lastFinished
	}
	all := append(c.metrics(), c.rates(phase)...)
	all = append(all, c.hidden()...)
	if c.streamed && !math.IsInf(from, 0) {
		all = append(all, a.sweeps.metrics(from, to)...)
	}
	r := a.rep
	r.Metrics = byConsole(all)
	r.withoutLacking(a.run)
	r.hint = len(c.total) > 0 && !a.cachedSeen
	a.explainLevel(phase)
	if phase == 0 && !r.cancelled && c.ok > 0 {
		r.warnings = append(r.warnings, errors.New("AIPerf divides by the time from before the first request to after the last, which the file does not say: rates and effective metrics are over the requests themselves; give --arg start_time=… and end_time=… of its summary"))
	}
	if len(a.cfg.Goodput) > 0 {
		r.warnings = append(r.warnings, errors.New("AIPerf's goodput is not reproduced; pa-analyze report --slo says how many requests keep limits"))
	}
	if a.skipped > 0 {
		r.warnings = append(r.warnings, fmt.Errorf("%d requests of the level were cancelled or not measured: AIPerf does not count them", a.skipped))
	}
}
