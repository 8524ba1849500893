package figure

import (
	"cmp"
	"errors"
	"math"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Quality says how smoothly the tokens of a level came. It is about successful requests.
type Quality struct {
	Config quality.Config
	// Metrics holds the metrics that have a value, in the order of answer.QualityMetrics.
	Metrics []summary.Metric
	// Figures holds the figures that QualityFigures lists.
	Figures []Figure
	// Positions holds the mean gap by its position in the answer.
	Positions []quality.Position
	// Requests is the number of requests whose token times are known.
	Requests int
	// Counted is the number of these requests in which the server counts the tokens of each event
	// (continuous_usage_stats), so that ITLPerToken needs no even spread over the events.
	Counted int
	// Missing is the reason why some metrics have no value; "" if all have.
	Missing string
}

// Metric returns the summary of a metric; nil if it has no values.
func (q *Quality) Metric(m answer.Metric) *summary.Summary { return summary.Find(q.Metrics, m) }

// A qualityCollector gathers the values of a level.
type qualityCollector struct {
	meter  *quality.Meter
	whole  [answer.NumQuality]summary.Sample[int64]
	ratios [answer.NumQuality]summary.Sample[float64]

	requests, unreached int // requests with token times, and requests that reach Target at no interval
	deadlines, misses   stat.IntSum
	tokens, inTime      stat.IntSum
	idle                stat.IntSum
	nStalls, stalled    int
	stallNS, decodeNS   stat.IntSum
	visible, events     stat.IntSum
	positions           quality.Positions
	severalChoices      int
	counted             int // requests with token times whose events have counted tokens
	perToken            summary.PerToken
	itl                 *summary.Sample[int64] // the gaps of the level
	added               summary.Sums           // of itl when the last request had been added
	rank                int                    // of the request whose interval is the fluid interval of the level, from 1
	summaries           [answer.NumQuality]*summary.Summary
}

// NewQuality returns the group of [Quality] of a level whose gaps are in itl.
func NewQuality(cfg quality.Config, itl *summary.Sample[int64]) Group {
	q, memory := &qualityCollector{meter: quality.NewMeter(cfg), itl: itl}, itl.Memory
	for i := range answer.QualityMetrics {
		q.whole[i].Memory, q.ratios[i].Memory = memory, memory
	}
	q.perToken.Memory = memory
	return q
}

// qualityIndex returns the index of a metric in [answer.QualityMetrics].
func qualityIndex(m answer.Metric) int { return int(m - answer.Fluidity) }

// Add implements [Group].
func (c *qualityCollector) Add(p *answer.Measured) {
	gaps := c.itl.Since(c.added)
	c.added = c.itl.Sums
	q := c.meter.MeasureForLevel(p)
	factor, tokens := q.PerToken(&p.Measures)
	c.perToken.Add(p.Gaps, tokens, factor, c.itl, gaps)
	for _, m := range [...]answer.Metric{answer.Fluidity, answer.TokensInTime, answer.StallShare, answer.TokensPerEvent, answer.NormalizedLatency} {
		if v := q.Value(m); !math.IsNaN(v) {
			c.ratios[qualityIndex(m)].AddOne(v)
		}
	}
	if !math.IsNaN(q.TokensPerEvent) {
		c.visible.Add(p.VisibleTokens().V)
		c.events.Add(int64(p.Events))
	}
	if q.SeveralChoices {
		c.severalChoices++
	}
	if !q.Timed {
		return
	}
	c.times(&q)
	c.positions.Add(&c.meter.Answer)
	if q.Counted {
		c.counted++
	}
}

// times adds the whole numbers that follow from the token times.
func (c *qualityCollector) times(q *quality.Request) {
	c.requests++
	c.deadlines.Add(q.Fluidity.Deadlines)
	c.misses.Add(q.Fluidity.Misses)
	if q.IntervalNS.OK {
		c.whole[qualityIndex(answer.FluidInterval)].AddOne(q.IntervalNS.V)
	} else {
		c.unreached++
	}
	c.tokens.Add(q.Timeliness.Tokens)
	c.inTime.Add(q.Timeliness.Met)
	c.idle.Add(q.Timeliness.IdleNS)
	c.whole[qualityIndex(answer.ReaderIdle)].AddOne(q.Timeliness.IdleNS)
	s := &q.Stall
	c.whole[qualityIndex(answer.Stalls)].AddOne(int64(s.N))
	c.nStalls += s.N
	if s.N > 0 {
		c.stalled++
		c.whole[qualityIndex(answer.LongestStall)].AddOne(s.LongestNS)
	}
	c.stallNS.Add(s.TotalNS)
	c.decodeNS.Add(s.DecodeNS)
}

// End implements [Group].
func (c *qualityCollector) End() error {
	c.perToken.Finish(c.itl)
	c.rank = int(math.Ceil(c.meter.Config.Share*float64(c.requests) - 1e-9))
	c.whole[qualityIndex(answer.FluidInterval)].Nth = c.rank - 1
	err := c.perToken.Err
	for i := range c.summaries {
		if c.summaries[i] = c.whole[i].Summary(); c.summaries[i] == nil {
			c.summaries[i] = c.ratios[i].Summary()
		}
		err = errors.Join(err, c.whole[i].Err, c.ratios[i].Err)
	}
	return err
}

// Set implements [Group].
func (c *qualityCollector) Set(x *Level, run *export.Run) {
	cfg := &c.meter.Config
	q := &Quality{Config: *cfg, Positions: c.positions.Means(), Requests: c.requests, Counted: c.counted, Missing: c.missing(run)}
	x.Quality = q
	intervals := &c.whole[qualityIndex(answer.FluidInterval)]
	for i, s := range c.summaries {
		if answer.QualityMetrics[i].Metric == answer.ITLPerToken {
			s = c.perToken.Summary(x.Metric(answer.ITL))
		}
		if s != nil {
			q.Metrics = append(q.Metrics, summary.Metric{Definition: &answer.QualityMetrics[i], Summary: s})
		}
	}
	q.Figures = append(q.Figures, QualityFigures[:]...)
	for i := range q.Figures {
		q.Figures[i].Why = "no request has the values"
		if q.Missing != "" {
			q.Figures[i].Why = q.Missing
		}
	}
	set := func(i int, value float64) { q.Figures[i].Value, q.Figures[i].Why = value, "" }
	if c.requests > 0 {
		set(poolFluidity, 1-c.misses.Float64()/c.deadlines.Float64())
		set(poolInTime, c.inTime.Float64()/c.tokens.Float64())
		set(poolStalls, float64(c.nStalls))
		set(stalledRequests, float64(c.stalled))
		switch {
		case c.rank > c.requests-c.unreached:
			q.Figures[fluidRate].Why = "too many requests miss the target at every rate, because their first token is late"
		case intervals.NthValue <= 1:
			q.Figures[fluidRate].Why = "the tokens come so early that every rate is met; give a shorter --due-first"
		case intervals.Err == nil:
			set(fluidRate, 1e9/intervals.NthValue)
		}
		if x.DurationNS > 0 {
			set(smoothGoodput, (c.tokens.Float64()-c.idle.Float64()/float64(cfg.PaceNS))/(float64(x.DurationNS)/1e9))
		} else {
			q.Figures[smoothGoodput].Why = cmp.Or(x.WhyNot("throughput"), whyNoDuration)
		}
		if decode := c.decodeNS.Float64(); decode > 0 {
			set(poolStallShare, c.stallNS.Float64()/decode)
		} else {
			q.Figures[poolStallShare].Why = "no time passes between the tokens of any request"
		}
	}
	if events := c.events.Float64(); events > 0 {
		set(poolPerEvent, c.visible.Float64()/events)
	} else {
		q.Figures[poolPerEvent].Why = "no source counts the tokens apart from their events"
		if why := x.WhyNot(answer.TPOT.Key()); why == WhyUntimed {
			q.Figures[poolPerEvent].Why = why
		}
	}
	normalized := summary.Find(q.Metrics, answer.NormalizedLatency)
	for i, level := range map[int]float64{interactivity90: 90, interactivity75: 75} {
		if normalized == nil {
			q.Figures[i].Why = cmp.Or(x.WhyNot("output_tokens_per_s"), withoutNormalized(run))
		} else if v := normalized.P(level); v > 0 {
			set(i, 1e9/v)
		}
	}
}

// missing returns why requests lack token times; "" if none does.
func (c *qualityCollector) missing(run *export.Run) string {
	if why, lacks := run.Lacks(export.PartGaps); lacks {
		return why
	}
	switch {
	case c.severalChoices > 0:
		return "requests with several choices have no single order of tokens"
	case c.requests == 0:
		return "no streamed answer"
	}
	return ""
}

// The indices of QualityFigures.
const (
	poolFluidity = iota
	fluidRate
	poolInTime
	smoothGoodput
	poolStalls
	stalledRequests
	poolStallShare
	poolPerEvent
	interactivity90
	interactivity75
	numQualityFigures
)

// QualityFigures are the figures of [Quality] without values, in the order of a report.
var QualityFigures = [numQualityFigures]Figure{
	poolFluidity:    {Key: "fluidity_index", Label: "fluidity index", Unit: "ratio", Formula: "1 − Σ missed deadlines / Σ deadlines, over all requests", Source: "arXiv 2507.09019"},
	fluidRate:       {Key: "fluid_token_rate", Label: "fluid token rate", Unit: "tokens/s", Formula: "1 / the smallest time between tokens at which Share of the requests have a fluidity index of at least Target", Source: "arXiv 2407.07000"},
	poolInTime:      {Key: "tokens_in_time", Label: "tokens in time", Unit: "ratio", Formula: "Σ tokens in time / Σ tokens", Source: "arXiv 2410.14257"},
	smoothGoodput:   {Key: "smooth_goodput", Label: "smooth goodput", Unit: "tokens/s", Formula: "Σ (tokens − reader idle / PaceNS) / duration", Source: "arXiv 2410.14257, with one token a pace as the weight of idle time"},
	poolStalls:      {Key: "stalls", Label: "stalls", Unit: "count", Formula: "Σ stalls"},
	stalledRequests: {Key: "stalled_requests", Label: "requests with a stall", Unit: "count", Formula: "requests with at least one stall"},
	poolStallShare:  {Key: "stall_share", Label: "stall share", Unit: "ratio", Formula: "Σ times of stalls / Σ (last token event − first token event)"},
	poolPerEvent:    {Key: "tokens_per_event", Label: "tokens per event", Unit: "ratio", Formula: "Σ visible output tokens / Σ token events"},
	interactivity90: {Key: "interactivity_p90", Label: "interactivity p90", Unit: "tokens/s", Formula: "1 / p90 of E2EL per token", Source: "the sites that publish benchmarks; not p90 of the inverse"},
	interactivity75: {Key: "interactivity_p75", Label: "interactivity p75", Unit: "tokens/s", Formula: "1 / p75 of E2EL per token"},
}
