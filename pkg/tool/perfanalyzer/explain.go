package perfanalyzer

import (
	"slices"
	"time"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

var _ explain.Definer = (*Report)(nil)

// explain notes the rules that affected a request. The request ended in window i; i < 0
// means in no window. ok is false if perf_analyzer does not count the request.
func (c *collector) explain(l *levelData, r *export.Request, end uint64, ok bool, i int) {
	t := c.explainer
	if t == nil {
		return
	}
	t.Request(r)
	var why string
	switch {
	case !ok:
		why = "leaves out requests that have only a null response or end before they start"
	case i < 0:
		why = "leaves out requests that ended in no measurement window"
	case i < len(l.windows)-pawindow.StableOver:
		why = "leaves out requests that ended before the last three windows"
	default:
		t.End(end)
		c.keepLatency(l, end-r.StartNS, i)
		return
	}
	for _, m := range [...]explain.Measure{explain.Requests, explain.RequestRate, explain.Latency} {
		t.Note(m, why)
	}
}

// keepLatency keeps the latency of a request that ended in window i, if the report is
// explained and includes the window.
func (c *collector) keepLatency(l *levelData, latencyNS uint64, i int) {
	if c.explainer != nil && i >= len(l.windows)-pawindow.StableOver {
		c.latencies = append(c.latencies, float64(latencyNS))
	}
}

// explainLevel notes the rules that affected the whole level.
func (c *collector) explainLevel(s *pawindow.Summary) {
	t := c.explainer
	if t == nil || s.Requests == 0 {
		return
	}
	t.Over(int64(s.Duration), "the measurement windows that are reported")
	slices.Sort(c.latencies)
	if len(c.latencies) == 0 {
		return
	}
	for _, pct := range [...]int{50, 99} {
		if p, ok := s.Percentile(pct); ok && float64(p) != stat.NumpyPercentile(c.latencies, float64(pct)) {
			t.State("a percentile is an observed latency, not interpolated", explain.Latency)
			break
		}
	}
	if float64(s.Mean) != stat.NumpyMean(stat.NumpyCurrent, c.latencies) {
		t.State("the mean is rounded down to nanoseconds", explain.Latency)
	}
}

// Definitions returns, for each measure of the last reported level, perf_analyzer's
// name and formula, and why its value differs from strict's.
func (r *Report) Definitions() []explain.Definition { return explain.DefineAll(r.define) }

// define fills in the name, the formula and the value of a definition.
func (r *Report) define(d *explain.Definition) {
	switch d.Measure {
	case explain.Latency:
		d.Name, d.Formula = "Avg latency", "last response that is not null − timestamp, of requests that ended in the last three windows"
	case explain.Requests:
		d.Name, d.Formula = "Request count", "requests that ended in the last three windows"
	case explain.RequestRate:
		d.Name, d.Formula = "Throughput", "requests that ended in the last three windows / duration of these windows"
	default:
		return
	}
	n := len(r.Levels)
	switch {
	case n == 0 || r.Levels[n-1].Unreported:
		d.NA = "perf_analyzer reports nothing for this level"
		return
	case r.Levels[n-1].Summary.Requests == 0:
		d.NA = "no request ended in the last three windows"
		return
	}
	l := &r.Levels[n-1]
	if d.NA = l.NoLatency; d.Measure != explain.Latency {
		d.NA = ""
	}
	if d.Measure == explain.RequestRate {
		d.NA = l.NoRate
	}
	if d.NA != "" {
		return
	}
	s := &l.Summary
	switch d.Measure {
	case explain.Latency:
		at := func(pct int) float64 {
			p, _ := s.Percentile(pct)
			return float64(p)
		}
		d.Values = explain.Values{N: s.Requests, Mean: float64(s.Mean), P50: at(50), P99: at(99)}
	case explain.Requests:
		d.Values = explain.Single(float64(s.Requests))
	case explain.RequestRate:
		if s.Duration < time.Nanosecond {
			d.NA = "the measurement windows have no duration"
			return
		}
		d.Values = explain.Single(float64(s.Requests) / s.Duration.Seconds())
	}
	d.Differs = r.explainer.Differs(d.Measure)
}

// Remarks returns the Warnings about requests and windows.
func (r *Report) Remarks() []string { return explain.Texts(r.remarks) }
