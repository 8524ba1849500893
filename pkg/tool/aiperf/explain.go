package aiperf

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
)

var _ explain.Definer = (*report)(nil)

// explain records the rules that applied to a successful request.
func (a *analysis) explain(r *record, q *export.Request) {
	t := a.rep.explainer
	if t == nil {
		return
	}
	t.First(q.StartNS+uint64(r.ttft), explain.InterToken)
	if len(r.gaps) > 0 {
		t.Second(q.StartNS + uint64(r.ttft+r.gaps[0]))
	}
	t.End(q.StartNS+uint64(r.latency), explain.InterToken)
	if a.rep.uncounted {
		return
	}
	t.Output(r.output)
	if r.hasInput {
		t.Input(r.input)
	}
}

// explainLevel records the rules that applied to the whole level. phase is the time of
// the rates in seconds; 0 means the time of the requests.
func (a *analysis) explainLevel(phase float64) {
	t := a.rep.explainer
	how, ns := "from the first start to the last response with content, as instants in float64, 256 ns apart", (a.c.lastEnd - a.c.firstStart)
	if phase > 0 {
		how, ns = "the whole phase", phase*1e9
	}
	if a.c.ok > 0 {
		t.Over(int64(math.Round(ns)), how)
	}
	if len(t.Differs(explain.OutputTokens)) > 0 {
		t.State("adds up its own count of output tokens", explain.OutputRate, explain.TotalRate)
	}
	if len(t.Differs(explain.InputTokens)) > 0 {
		t.State("adds up its own count of input tokens", explain.TotalRate)
	}
	t.State("one value per request, not one per gap: divides by output tokens − 1, as strict's TPOT; the gaps are its inter_chunk_latency", explain.InterToken)
	t.State("of each request by itself; strict divides the rate of all by the concurrency", explain.UserRate)
}

// defined holds AIPerf's metric of each measure, and its formula.
var defined = map[explain.Measure]struct{ tag, formula string }{
	explain.FirstToken:   {firstToken, "first response with text, reasoning or a call − start"},
	explain.SecondToken:  {secondToken, "second response with text, reasoning or a call − first"},
	explain.InterToken:   {interToken, "(request latency − time to first token) / (output tokens − 1), of each request"},
	explain.Latency:      {requestLatency, "last response with text, reasoning or a call − start"},
	explain.OutputTokens: {outputLength, "the tokenizer's count of the text and of the reasoning"},
	explain.InputTokens:  {inputLength, "the tokenizer's count of the prompt"},
	explain.Requests:     {requestCount, "requests that did not fail"},
	explain.RequestRate:  {requestRate, "successful requests / duration of the phase"},
	explain.OutputRate:   {outputRate, "Σ output tokens / the same duration"},
	explain.TotalRate:    {totalRate, "Σ input and output tokens / the same duration"},
	explain.UserRate:     {perUser, "1 / inter token latency, of each request"},
}

// Definitions returns AIPerf's name and formula of each measure, and why its value
// differs from the strict one.
func (r *report) Definitions() []explain.Definition {
	return explain.DefineAll(func(d *explain.Definition) {
		x, ok := defined[d.Measure]
		if !ok {
			return
		}
		d.Name, d.Formula, d.NA = x.tag, x.formula, ""
		if r.fromUsage && (d.Measure == explain.OutputTokens || d.Measure == explain.InputTokens) {
			d.Formula = "the server's usage (--use-server-token-count)"
		}
		r.value(d)
	})
}

// value sets the values of a definition, or the reason why there are none.
func (r *report) value(d *explain.Definition) {
	m := r.Metric(d.Name)
	switch {
	case r.uncounted && (d.Measure == explain.InterToken || d.Measure == explain.OutputTokens || d.Measure == explain.InputTokens ||
		d.Measure == explain.OutputRate || d.Measure == explain.TotalRate || d.Measure == explain.UserRate):
		d.NA = explain.NeedsTokenizer
	case m == nil && r.lacks != "":
		d.NA = r.lacks
	case m == nil && (d.Measure == explain.InterToken || d.Measure == explain.UserRate):
		d.NA = "no streamed request has two output tokens"
	case m == nil && (d.Measure == explain.InputTokens || d.Measure == explain.TotalRate):
		d.NA = "no prompt is found in the requests"
	case m == nil:
		d.NA = "no request has a value"
	case m.isSingle():
		d.Values, d.Differs = explain.Single(m.Avg), r.explainer.Differs(d.Measure)
	default:
		scale := 1.0
		if d.Measure.Unit() == explain.Nanoseconds {
			scale = 1e6
		}
		d.Values = explain.Values{N: m.Count, Mean: m.Avg * scale, P50: m.P(50) * scale, P99: m.P(99) * scale}
		d.Differs = r.explainer.Differs(d.Measure)
	}
}

// Remarks returns the Warnings.
func (r *report) Remarks() []string { return explain.Texts(r.warnings) }
