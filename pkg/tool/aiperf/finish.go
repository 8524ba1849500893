package aiperf

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
)

// finish computes the metrics after the last request.
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
	all := append(c.metrics(), c.rates(phase, len(a.cfg.Goodput) > 0)...)
	if !math.IsInf(from, 0) && to > from {
		all = append(all, a.sweeps.metrics(a.release.steps, from, to, c.chunks)...)
	}
	if c.chunks.Len() > 0 {
		all = append(all, spread("inter_chunk_latency", c.chunks, 1e-6))
	}
	r := a.rep
	r.startNS, r.endNS = a.startNS, a.endNS
	place := func(m Metric) int {
		return slices.IndexFunc(a.release.columns, func(c column) bool { return c.tag == m.Tag })
	}
	slices.SortFunc(all, func(x, y Metric) int { return place(x) - place(y) })
	r.Metrics = all
	r.dropLacking(a.run)
	r.hint = c.values["usage_total_tokens"] != nil && !a.cachedSeen
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
