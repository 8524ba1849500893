package explain

import (
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
)

// strictMetrics maps measures to metrics.
var strictMetrics = map[Measure]answer.Metric{
	FirstToken: answer.TTFT, SecondToken: answer.TTST, InterToken: answer.ITL, OutputTime: answer.TPOT, Latency: answer.E2EL,
	OutputTokens: answer.OutputTokens, InputTokens: answer.InputTokens,
}

// strictRates maps measures to the keys of rates.
var strictRates = map[Measure]string{
	RequestRate: KeyRequestRate, OutputRate: KeyOutputRate, TotalRate: KeyTotalRate, UserRate: KeyUserRate,
}

// Key returns the key of the strict measure in the JSON of a report: "ttft_ns"; "" if it has none.
func (m Measure) Key() string {
	if metric, ok := strictMetrics[m]; ok {
		return metric.Key()
	}
	return strictRates[m]
}

// Strict returns pa-analyze's own definitions of one load level, one for each of [Measures].
func Strict(rep *analyze.Report, e *analyze.Experiment) []Definition {
	var all []Definition
	for _, m := range Measures() {
		d := Definition{Measure: m}
		if metric, ok := strictMetrics[m]; ok {
			strictMetric(&d, metric, rep, e)
		} else {
			strictRate(&d, e)
		}
		all = append(all, d)
	}
	return all
}

func strictMetric(d *Definition, m answer.Metric, rep *analyze.Report, e *analyze.Experiment) {
	d.Name, d.Formula = m.Label(), m.Definition().Formula
	switch d.Measure {
	case FirstToken, Latency:
		if rep.From != answer.FromStart {
			d.Formula += fmt.Sprintf(" (counted from %s)", rep.From)
		}
	case OutputTokens:
		d.Formula = sourceWords(e.TokenSource)
		if e.TokenSource == answer.TokenMixed {
			d.Formula = "the server's usage or, of requests without it, the next best count"
		}
	}
	if s := e.Metric(m); s != nil {
		d.Values = Values{N: s.N, Mean: s.Mean, P50: s.P(50), P99: s.P(99)}
		return
	}
	d.NA = "no request has one"
	if d.Measure == InputTokens {
		d.NA = "no usage of the server in the file"
	}
	for _, u := range slices.Concat(e.Unavailable, rep.Unavailable) {
		if u.Key == m.Key() {
			d.NA = u.Why
		}
	}
}

func strictRate(d *Definition, e *analyze.Experiment) {
	t := &e.Throughput
	noTokens, noTotal, noUser := "no tokens are known", "the input tokens of some requests are unknown", "only for a level of a concurrency"
	for _, u := range e.Unavailable {
		if u.Key == "output_tokens_per_s" {
			noTokens, noTotal, noUser = u.Why, u.Why, u.Why
		}
	}
	rate := func(na string, r figure.Rate) {
		x := Find(Rates, strictRates[d.Measure], true)
		d.Name, d.Formula = x.Label, x.Formula
		if d.Values = Single(r.PerSecond); !r.OK {
			d.Values, d.NA = Values{}, na
		}
	}
	switch d.Measure {
	case Requests:
		d.Name, d.Formula, d.Values = "ok", "measured and successful", Single(float64(e.OK))
	case RequestRate:
		rate("there is no duration", t.Requests)
	case OutputRate:
		rate(noTokens, t.OutputTokens)
	case TotalRate:
		rate(noTotal, t.TotalTokens)
	case UserRate:
		rate(noUser, t.OutputTokensPerUser)
	}
}

// Has reports whether the definition has a value.
func (d *Definition) Has() bool { return d.NA == "" && d.Formula != "" && !math.IsNaN(d.Values.Mean) }
