package figure

import (
	"errors"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Phases says where the time of the requests of a level went, and what else the answers state about the work of the
// server.
type Phases struct {
	// Metrics holds the metrics that have a value, in the order of [answer.ServerMetrics].
	Metrics []summary.Metric
	// Waterfall divides the TTFT; nil if no answer states a time before its first token.
	Waterfall *Waterfall
	// Figures holds the figures that PhaseFigures lists.
	Figures []Figure
}

// A Waterfall divides the TTFT of the requests of a level whose answers state times of the server.
type Waterfall struct {
	Requests int
	// Unstated counts the other requests with a TTFT.
	Unstated int
	// MeanNS is the mean TTFT of Requests. It is the sum of the means of the Parts.
	MeanNS float64
	// Parts holds the parts that a request has, in the order of time.
	Parts []TTFTPart
	// BoundNS is the mean bound of the error of the rest that comes from the clocks of the client and the server.
	BoundNS float64
	// Below counts the requests whose rest is below 0, and Beyond those among them whose rest is below 0 by more than its
	// bound. LeastNS is the smallest rest.
	Below, Beyond int
	LeastNS       int64
}

// A TTFTPart is a part of the TTFT.
type TTFTPart struct {
	Part answer.WaterfallPart
	N    int // requests with the part; it is part of the rest of the others
	// MeanNS is over all requests of the waterfall.
	MeanNS float64
	// Share is Σ part / Σ TTFT; 0 if each TTFT is 0.
	Share float64
}

// The keys of the figures.
const (
	KeyQueueTime     = "queue_ns"
	KeyPrefillTime   = "prefill_ns"
	KeyDecodeTime    = "decode_ns"
	KeyOtherTime     = "other_ns"
	KeyAcceptance    = "pooled_acceptance_length"
	KeyAcceptedShare = "accepted_draft_tokens"
	KeyLocalHits     = "cached_local_share"
	KeyHostHits      = "cached_host_share"
	KeyStorageHits   = "cached_storage_share"
	KeyExternalHits  = "cached_external_share"
	KeyRetractions   = "all_retractions"
)

// PhaseFigures are the figures of [Phases] without values, in the order of a report.
var PhaseFigures = [...]Figure{
	{Key: KeyQueueTime, Label: "queue", Unit: "ns", Formula: "mean over the requests that the server ended: growth of its sum of queue times / growth of its count of requests; or mean of the times that answers state"},
	{Key: KeyPrefillTime, Label: "prefill", Unit: "ns", Formula: "as for the queue, of the prefill times"},
	{Key: KeyDecodeTime, Label: "decode", Unit: "ns", Formula: "as for the queue, of the decode times"},
	{Key: KeyOtherTime, Label: "network, client and rest", Unit: "ns", Formula: "mean E2EL − queue − prefill − decode"},
	{Key: KeyAcceptance, Label: "acceptance length", Unit: "tokens", Formula: "1 + Σ accepted tokens / Σ steps of speculation, of requests whose answers state both"},
	{Key: KeyAcceptedShare, Label: "draft tokens accepted", Unit: "ratio", Formula: "Σ accepted tokens / Σ draft tokens, of requests whose answers state both"},
	{Key: KeyLocalHits, Label: "cached in the accelerator", Unit: "ratio", Formula: "Σ cached tokens of the level / Σ input tokens, of requests whose answers state both"},
	{Key: KeyHostHits, Label: "cached in the host", Unit: "ratio", Formula: "as in the accelerator"},
	{Key: KeyStorageHits, Label: "cached on storage", Unit: "ratio", Formula: "as in the accelerator"},
	{Key: KeyExternalHits, Label: "cached by other servers", Unit: "ratio", Formula: "as in the accelerator"},
	{Key: KeyRetractions, Label: "retractions", Unit: "count", Formula: "Σ of the requests whose answers state it"},
}

// timeFigures is the number of figures that are times, which come first.
const timeFigures = 4

// A phasesCollector gathers what answers state.
type phasesCollector struct {
	whole   [answer.NumServer]summary.Sample[int64]
	ratios  [answer.NumServer]summary.Sample[float64]
	metrics []summary.Metric

	waterfall Waterfall
	parts     [answer.NumWaterfallParts]partSum
	ttft      stat.IntSum
	bound     stat.IntSum
	pooled    [len(PhaseFigures) - timeFigures]quotient
}

// A partSum is the sum of a part of the TTFT over n requests.
type partSum struct {
	sum stat.IntSum
	n   int
}

// A quotient is a quotient of two sums over n requests.
type quotient struct {
	above, below stat.IntSum
	n            int
}

// add adds a request, if its answer states both numbers.
func (q *quotient) add(above, below export.Int) {
	if above.OK && below.OK {
		q.above.Add(above.V)
		q.below.Add(below.V)
		q.n++
	}
}

// NewPhases returns the group of [Phases]. Its values share memory.
func NewPhases(memory *stat.Store) Group {
	c := &phasesCollector{}
	for i := range c.whole {
		c.whole[i].Memory, c.ratios[i].Memory = memory, memory
	}
	return c
}

// Add implements [Group].
func (c *phasesCollector) Add(p *answer.Measured) {
	for i := range c.whole {
		switch m := answer.ServerMetrics[i].Metric; m {
		case answer.AcceptanceLength, answer.DraftAcceptance:
			if v, ok := p.DraftRatio(m); ok {
				c.ratios[i].AddOne(v)
			}
		default:
			if v := p.Value(m); v.OK {
				c.whole[i].AddOne(v.V)
			}
		}
	}
	c.addWaterfall(&p.Measures)
	d := &p.Server
	input := p.InputTokens
	if input.V <= 0 {
		input.OK = false
	}
	for i, x := range [...]struct{ above, below export.Int }{
		{d.AcceptedTokens, d.DraftSteps},
		{d.AcceptedTokens, d.DraftTokens},
		{d.CachedLocal, input},
		{d.CachedHost, input},
		{d.CachedStorage, input},
		{d.CachedExternal, input},
		{d.Retractions, export.IntOf(1)},
	} {
		c.pooled[i].add(x.above, x.below)
	}
}

// addWaterfall adds the parts of a TTFT.
func (c *phasesCollector) addWaterfall(m *answer.Measures) {
	w, ok := m.Waterfall()
	x := &c.waterfall
	if !ok {
		if m.TTFT.OK {
			x.Unstated++
		}
		return
	}
	x.Requests++
	c.ttft.Add(m.TTFT.V)
	c.bound.Add(w.BoundNS)
	for i, v := range w.Parts {
		if v.OK {
			c.parts[i].sum.Add(v.V)
			c.parts[i].n++
		}
	}
	rest := w.Parts[answer.RestPart].V
	if x.Requests == 1 || rest < x.LeastNS {
		x.LeastNS = rest
	}
	if rest < 0 {
		x.Below++
	}
	if rest < -w.BoundNS {
		x.Beyond++
	}
}

// End implements [Group].
func (c *phasesCollector) End() (err error) {
	for i := range c.whole {
		s := c.whole[i].Summary()
		if s == nil {
			s = c.ratios[i].Summary()
		}
		if s != nil {
			c.metrics = append(c.metrics, summary.Metric{Definition: &answer.ServerMetrics[i], Summary: s})
		}
		err = errors.Join(err, c.whole[i].Err, c.ratios[i].Err)
	}
	return err
}

// Set implements [Group]; AddPhases completes the figures of times.
func (c *phasesCollector) Set(x *Level, _ *export.Run) {
	p := &Phases{Metrics: c.metrics, Figures: append([]Figure{}, PhaseFigures[:]...), Waterfall: c.finish()}
	for i := range c.pooled {
		f, q := &p.Figures[timeFigures+i], &c.pooled[i]
		switch below := q.below.Float64(); {
		case q.n == 0:
			f.Why = notStated
		case f.Key == KeyRetractions:
			f.Value = q.above.Float64()
		case below == 0:
			f.Why = "no request speculated"
		default:
			f.Value = q.above.Float64() / below
			if f.Key == KeyAcceptance {
				f.Value++
			}
		}
	}
	x.Phases = p
}

// finish returns the waterfall; nil if it has no requests.
func (c *phasesCollector) finish() *Waterfall {
	w := c.waterfall
	if w.Requests == 0 {
		return nil
	}
	w.MeanNS, w.BoundNS = c.ttft.Div(w.Requests), c.bound.Div(w.Requests)
	for i := range c.parts {
		if p := &c.parts[i]; p.n > 0 {
			share := 0.0
			if all := c.ttft.Float64(); all > 0 {
				share = p.sum.Float64() / all
			}
			w.Parts = append(w.Parts, TTFTPart{Part: answer.WaterfallPart(i), N: p.n, MeanNS: p.sum.Div(w.Requests), Share: share})
		}
	}
	return &w
}

// notStated is the reason why a figure that only answers state is not known.
const notStated = "no answer states it; speculation needs llama.cpp, or vLLM --per-request-spec-decode-metrics summary --enable-per-request-metrics; cache by level SGLang --enable-cache-report with --ask-server-times; retractions SGLang /generate"

// AddPhases completes the figures of times by the servers' figures.
func (x *Level) AddPhases(run *export.Run) {
	p := x.Phases
	triton := run.ServiceKind != nil && *run.ServiceKind == "triton"
	all, known := 0.0, 0
	times := p.Figures[:timeFigures-1]
	for i := range times {
		f := &times[i]
		m := map[string]answer.Metric{KeyQueueTime: answer.ServerQueue, KeyPrefillTime: answer.ServerPrefill, KeyDecodeTime: answer.ServerDecode}[f.Key]
		if triton && x.decoupled() {
			f.Why = "the model is decoupled: Triton's times end before the stream of responses does"
			continue
		}
		f.Value, f.From, f.Why = x.phase(f.Label)
		if s := summary.Find(p.Metrics, m); f.Why != "" && s != nil {
			f.Value, f.From, f.Why = s.Mean, "times in the answers", ""
		}
		switch {
		case f.Why == "":
			known++
			all += f.Value
		case f.Why != noPhase:
		case triton && f.Key != KeyQueueTime:
			f.Why = "Triton does not tell prefill from decode"
		case run.Meta != nil && run.Meta.Import != nil && run.Meta.Import.Format != "":
			f.Why = run.Meta.Import.Format + " holds no times of the server"
		}
	}
	other := &p.Figures[timeFigures-1]
	switch e2el := x.Metric(answer.E2EL); {
	case known < len(times):
		other.Why = "one of the others is not known"
	case e2el == nil:
		other.Why = "no request has an E2EL"
	default:
		other.Value = e2el.Mean - all
	}
}

// decoupled reports whether the times of a Triton server belong to a decoupled model.
func (x *Level) decoupled() bool {
	return x.SeveralResponses || slices.ContainsFunc(x.Server, func(f serverfigures.Figure) bool { return f.Incomparable != "" })
}

// noPhase is the reason why a phase that nothing states is not known.
const noPhase = "no server metric and no answer states it; record with --collect-metrics, or start vLLM with --enable-per-request-metrics; SGLang and Dynamo: record with --ask-server-times"

// phase returns the mean time of a phase, of all servers together, and the metric that it comes from.
func (x *Level) phase(name string) (ns float64, from, why string) {
	n, models := 0.0, 0
	counter := ""
	for i := range x.Server {
		f := &x.Server[i]
		switch {
		case f.Name != name:
		case f.Kind == serverfigures.Counter:
			counter = f.Metric
		case f.Kind != serverfigures.Time:
		case f.NA != "":
			return 0, "", f.Of + ": " + f.NA
		default:
			if f.Source == "" { // ModelStatistics of a model
				models++
			}
			n += float64(f.N)
			ns += f.Mean * float64(f.N)
			if !slices.Contains(strings.Split(from, ", "), f.Metric) {
				from = strings.TrimPrefix(from+", "+f.Metric, ", ")
			}
		}
	}
	switch {
	case models > 1:
		return 0, "", "requests go through several models, each with a time of its own"
	case n > 0:
		return ns / n, from, ""
	case counter != "":
		return 0, "", counter + " is the time of all requests, and the server does not count them"
	}
	return 0, "", noPhase
}
