package aiperf

import (
	"errors"
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/plural"
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
	all := append(c.besides(), c.metrics()...)
	all = append(all, c.rates(phase, len(a.cfg.Goodput) > 0)...)
	if !math.IsInf(from, 0) && to > from {
		all = append(all, a.sweeps.metrics(from, to, c.chunks)...) // before they are sorted
	}
	all = append(all, c.hidden()...)
	r := a.rep
	r.startNS, r.endNS = a.startNS, a.endNS
	r.Metrics = byConsole(all)
	r.withoutLacking(a.run)
	r.hint = len(c.total) > 0 && !a.cachedSeen
	a.explainLevel(phase)
	if phase == 0 && !r.cancelled && c.ok > 0 {
		add := "give --arg start_time=… and end_time=…"
		if a.imported() {
			add = "add --beside to take it from profile_export_aiperf.json of the same folder, or " + add
		}
		r.warnings = append(r.warnings, errors.New("the file does not state the start and end of the phase, by which AIPerf divides; rates and effective metrics use the first start and the last end of the requests; "+add))
	}
	if a.skipped > 0 {
		r.warnings = append(r.warnings, fmt.Errorf("left out: %s that AIPerf does not count (cancelled, or not measured)", plural.Of(a.skipped, "request")))
	}
}
