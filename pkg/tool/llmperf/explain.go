package llmperf

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
)

var _ explain.Definer = (*report)(nil)

// explain records the tool's rules that applied to a request.
func (a *analysis) explain(o *result, q *export.Request) {
	t := a.rep.explainer
	if t == nil {
		return
	}
	t.Request(q)
	if o.crash != nil {
		t.Failed()
		return
	}
	after := func(s float64) uint64 { return q.StartNS + uint64(math.Round(s*1e9)) }
	if o.whole {
		t.Note(explain.FirstToken, "takes −1 s for the time of an answer over HTTP")
		t.Note(explain.InterToken, "divides the latency and a second more: the first token is at −1 s")
	} else {
		t.First(after(o.ttft), explain.InterToken)
	}
	t.End(after(o.latency), explain.InterToken)
	if a.rep.uncounted && q.Stated == nil {
		return
	}
	t.Output(o.output)
	t.Input(o.input)
}

// explainLevel records the rules that applied to the whole level.
func (a *analysis) explainLevel(l *level) {
	t := a.rep.explainer
	if !math.IsNaN(l.Wall) {
		t.Over(int64(math.Round(l.Wall*1e9)), "the time of the level")
	}
	if len(t.Differs(explain.OutputTokens)) > 0 {
		t.State("adds up its own count of output tokens", explain.OutputRate, explain.UserRate)
	}
	t.State("one value per request, not one per gap: divides by output tokens − 1, as strict's TPOT", explain.InterToken)
	t.State("Σ output tokens / Σ latencies, a rate of one stream; strict divides the rate of all by the concurrency", explain.UserRate)
}

// Definitions returns the tool's name and formula of each measure of the last reported
// level, and why its value differs from the strict one.
func (r *report) Definitions() []explain.Definition { return explain.DefineLast(r.Levels, r.define) }

// define fills in a definition and its values on a level.
func (r *report) define(d *explain.Definition, l *level) {
	table := r.release.table
	name := func(v1, v2 string) string {
		if table {
			return v2
		}
		return v1
	}
	spread := func(name, formula string, scale float64, of func(*result) float64) {
		d.Name, d.Formula, d.NA = name, formula, ""
		var x []float64
		for _, o := range l.results {
			x = append(x, scale*of(o))
		}
		if len(x) == 0 {
			d.NA = "there are no requests"
			return
		}
		mean := stat.NumpyMean(stat.NumpyCurrent, x)
		slices.Sort(x)
		d.Values = explain.Values{N: len(x), Mean: mean, P50: stat.NumpyPercentile(x, 50), P99: stat.NumpyPercentile(x, 99)}
	}
	single := func(name, formula string, v float64) {
		d.Name, d.Formula, d.NA, d.Values = name, formula, "", explain.Single(v)
		if math.IsNaN(v) {
			d.NA = "the file does not say how long the level took"
		}
	}
	counts := true
	switch d.Measure {
	case explain.FirstToken:
		counts = false
		spread(name("average_ttft", "Time to first token"), "first response, whatever it holds, − timestamp", 1e9, func(o *result) float64 { return o.ttft })
	case explain.Latency:
		counts = false
		spread(name("average_latency", "Request latency"), "last response, or one that is a stop word, − timestamp", 1e9, func(o *result) float64 { return o.latency })
	case explain.Requests:
		counts = false
		single(name("payload and results", "completed results"), "requests that were sent", float64(l.Requests))
	case explain.RequestRate:
		counts = false
		single(name("throughput", "request per sec"), "requests / time of the level", l.rate(l.Requests))
	case explain.OutputTokens:
		spread("output_tokens", "the tokenizer's count of all texts joined, with its special tokens", 1, func(o *result) float64 { return float64(o.output) })
	case explain.InputTokens:
		spread("input_tokens", "the tokenizer's count of text_input, with its special tokens", 1, func(o *result) float64 { return float64(o.input) })
	case explain.InterToken:
		if table {
			spread("Inter token latency", "(latency − ttft) / (output tokens − 1), of each request", 1e9, func(o *result) float64 { return o.tpot })
		}
	case explain.OutputRate:
		if table {
			single("total output token per sec", "Σ output tokens / time of the level", float64(l.OutputTokens)/l.Wall)
		}
	case explain.UserRate:
		if !table {
			single("average_output_token_per_sec", "Σ output tokens / Σ latencies", float64(l.OutputTokens)/l.Latency)
		}
	}
	switch {
	case d.NA != "":
	case l.part == partName:
		d.NA = "the tool stops before it says"
	case r.uncounted && counts:
		d.NA = explain.NeedsTokenizer
	default:
		d.Differs = r.explainer.Differs(d.Measure)
	}
}

// Remarks returns the Warnings; none names the version.
func (r *report) Remarks() []string {
	var all []string
	if r.Crash != nil {
		all = append(all, "itself stops at this file: "+r.Crash.Error())
	}
	return append(all, explain.Texts(r.warnings)...)
}
