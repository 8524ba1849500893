package analyze

import (
	"errors"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A collector gathers the values of one experiment. It keeps 24 bytes for each request, besides the
// values of the metrics (see sample).
type collector struct {
	whole [answer.NumStrict]summary.Sample[int64] // but not of TPOT
	tpot  summary.Sample[float64]
	err   error // from metrics: values could not be read back from a temporary file

	ok       int
	failed   figure.Tally
	messages map[string]message // of the first failure of each class
	excluded figure.Tally
	// unreadable counts requests that the reader left out.
	unreadable int
	// startsUnknown says that the file lacks the times at which requests were sent.
	startsUnknown bool
	certified     bool                     // the summaries have certified percentiles
	sources       [answer.TokenIDs + 1]int // counted requests by source of their tokens
	stamps        Stamps
	starts        Stamps
	figures       []figure.Group           // that were asked for
	slo           *figure.Attainer         // one of them; nil: not asked for
	sessions      *figure.SessionCollector // of the whole level; nil: not asked for
	latencies     []requestLatencies
	tpots         []timedTPOT // nil unless certified
	streams       streamCount

	firstStart, lastEnd uint64
	sent                sentRequests
	lengths             lengths
	resent              int           // requests of all kinds that were sent again
	paused              int           // requests that a pause touched, counted or left out
	leftOut             []figure.Span // requests of all kinds that are left out because of a pause
	lost                *lostTime     // time that does not count; nil if all counts
	output, input       stat.IntSum
	withInput           int // counted requests with a known number of input tokens

	events, shared int
	above, below   disagreement
	hidden         hiddenCount
	anomalies      anomalies
	wrong          wrongNumbers
	spanWrong      string // why the duration is not known: see wrongSpan
	refusal        string // why the tokenizer could not count the first of anomalies.notCounted
}

// prepare readies the collector for the figures that cfg asks for.
func (c *collector) prepare(cfg *Config) {
	c.certified, c.figures = cfg.Certified, c.groups(cfg)
}

// anomalies counts the unusual properties of counted requests, for the report's warnings.
type anomalies struct {
	noToken    int // responses but no token event
	noFrom     int // the time to count from is missing
	noTokens   int // no number of output tokens from the source asked for
	notCounted int // the tokenizer could not count their outputs
	assumed    int // no outputs: each response counted
	dropped    int // outputs left out by the recorder: tokens are not known
	damaged    int // also in dropped: the derived columns of the request are damaged
	unreadable int // events and bodies
	backward   int // gaps below 0
	early      int // first response before the instant to count from
	unsent     int // early, after the start and before the request was sent whole
	impossible int // spans beyond 292 years
	gaps       int
}

// A disagreement sums up requests whose usage differs from the number of token
// events.
type disagreement struct {
	requests       int
	tokens, events stat.IntSum
}

func (d *disagreement) add(tokens, events int64) {
	d.requests++
	d.tokens.Add(tokens)
	d.events.Add(events)
}

// add counts a request of any outcome. It keeps no reference to p.
func (c *collector) add(p *Point) {
	if p.Paused && (p.Counted || p.Excluded == answer.ExcludedPaused) {
		c.paused++
	}
	if p.LeftOut {
		c.leftOut = append(c.leftOut, figure.Span{FromNS: p.PlaceNS, ToNS: p.EndNS})
	}
	if p.resent {
		c.resent++
	}
	switch {
	case p.Counted:
		c.ok++
		c.sent.add(p.StartNS)
		c.count(p)
	case p.Excluded == export.ExcludedFailed:
		c.sent.add(p.StartNS)
		c.failed.Add(p.Class)
		c.addMessage(p)
		if c.slo != nil {
			c.slo.Fail(&p.Measured)
		}
	default:
		c.excluded.Add(string(p.Excluded))
	}
}

// A message is the error text of a failed request.
type message struct {
	text string
	id   uint64 // of the request; 0 if the file numbers none
}

// addMessage keeps the message of the first failure of each class: by id if the file numbers
// requests, so that the shards of a run may come in any order.
func (c *collector) addMessage(p *Point) {
	if c.messages == nil {
		c.messages = map[string]message{}
	}
	m := message{text: p.Message}
	if p.Numbered {
		m.id = p.ID
	}
	if old := c.messages[p.Class]; old.text == "" || m.text != "" && m.id < old.id {
		m.text = strings.Clone(m.text)
		c.messages[p.Class] = m
	}
}

// count adds the values of a request that counts.
func (c *collector) count(p *Point) {
	for i := range answer.StrictMetrics {
		switch m := answer.StrictMetrics[i].Metric; m {
		case answer.ITL:
			c.whole[i].Add(p.Gaps...)
		case answer.TPOT:
			if v, ok := p.TPOT(); ok {
				c.tpot.AddOne(v)
				if c.certified {
					c.tpots = append(c.tpots, timedTPOT{p.StartNS, v})
				}
			}
		default:
			if v := p.Value(m); v.OK {
				c.whole[i].AddOne(v.V)
			}
		}
	}
	if p.StartNS != 0 && (c.firstStart == 0 || p.StartNS < c.firstStart) {
		c.firstStart = p.StartNS
	}
	c.lastEnd = max(c.lastEnd, p.EndNS)
	c.sources[p.TokenSource]++
	if p.OutputTokens.OK {
		c.output.Add(p.OutputTokens.V)
	}
	if p.InputTokens.OK {
		c.input.Add(p.InputTokens.V)
		c.withInput++
	}
	c.events = int(stat.SaturatingAdd(int64(c.events), int64(p.Events)))
	c.shared += p.SharedStamps
	c.stamps.plus(p.stamps)
	c.starts.addOne(p.start)
	c.lengths.add(p)
	c.streams.add(p)
	c.hidden.add(p)
	c.latencies = append(c.latencies, requestLatencies{p.StartNS, p.TTFT.OrMissing(), p.E2EL.OrMissing()})
	for _, g := range c.figures {
		g.Add(&p.Measured)
	}
	if c.sessions != nil && p.turn > 0 {
		c.sessions.AddTurn(&p.Measured, p.turn-1)
	}
	c.countAnomalies(p)
}

// countAnomalies counts the unusual properties of a counted request.
func (c *collector) countAnomalies(p *Point) {
	o := &c.anomalies
	o.gaps += len(p.Gaps) + p.Backward
	o.backward += p.Backward
	o.impossible += p.Impossible
	o.unreadable += p.Unreadable
	if p.Dropped {
		o.dropped++
		if p.damaged {
			o.damaged++
		}
	} else if p.Events == 0 && !p.Numbers {
		o.noToken++
	}
	if p.FromNS == 0 {
		o.noFrom++
	} else if p.early {
		o.early++
		if p.answeredEarly {
			o.unsent++
		}
	}
	switch {
	case p.NotCounted != nil:
		if o.notCounted++; c.refusal == "" {
			c.refusal = p.NotCounted.Error()
		}
	case !p.OutputTokens.OK && !p.Dropped && !p.Numbers && !p.HasWrong(answer.Quantity(answer.OutputTokens)):
		o.noTokens++
	}
	if p.Assumed {
		o.assumed++
	}
	if p.Wrong != nil {
		c.wrong.add(p)
	}
	if u, events := p.VisibleTokens().V, int64(p.Events); !p.Untimed && (p.TokenSource == answer.TokenUsage || p.TokenSource == answer.TokenIDs) && events > 1 && p.Streamed == answer.StreamedYes {
		switch {
		case u > events:
			c.above.add(u, events)
		case u < events:
			c.below.add(u, events)
		}
	}
}

// useMemory makes the samples share m. It must be called before the first request.
func (c *collector) useMemory(m *stat.Store) {
	c.tpot.Memory = m
	for i := range answer.StrictMetrics {
		c.whole[i].Memory = m
	}
}

// wants says what the summaries have besides the usual: certified percentiles, a curve, counts of values.
func (c *collector) wants(cfg *Config) {
	c.tpot.Certified, c.tpot.Curve = cfg.Certified, cfg.Curve
	for i := range answer.StrictMetrics {
		c.whole[i].Certified, c.whole[i].Curve = cfg.Certified, cfg.Curve
		if cfg.Bounds != nil {
			c.whole[i].Bounds = cfg.Bounds(answer.StrictMetrics[i].Metric)
		}
	}
}

// metrics returns the summaries of the collected values.
func (c *collector) metrics() []summary.Metric {
	var all []summary.Metric
	for i := range answer.StrictMetrics {
		s := c.whole[i].Summary()
		if answer.StrictMetrics[i].Metric == answer.TPOT {
			s = c.tpot.Summary()
		}
		c.err = errors.Join(c.err, c.whole[i].Err, c.tpot.Err)
		if s != nil && (s.Max != 0 || !answer.StrictMetrics[i].Rare) {
			all = append(all, summary.Metric{Definition: &answer.StrictMetrics[i], Summary: s})
		}
	}
	return all
}

// throughput returns the rates over a duration.
func (c *collector) throughput(durationNS int64, e *export.Experiment) figure.Throughput {
	var t figure.Throughput
	if durationNS <= 0 {
		return t
	}
	s := float64(durationNS) / 1e9
	t.Requests = figure.PerSecond(float64(c.ok) / s)
	if c.ok == c.sources[answer.TokenAuto] || c.anomalies.dropped+c.anomalies.notCounted+c.wrong.tokens() > 0 || c.streams.uncounted > 0 {
		return t
	}
	t.OutputTokens = figure.PerSecond(c.output.Float64() / s)
	if c.withInput == c.ok {
		both := c.output
		both.AddSum(c.input)
		t.TotalTokens = figure.PerSecond(both.Float64() / s)
	}
	if users := concurrency(e); users > 0 {
		t.OutputTokensPerUser = figure.PerSecond(t.OutputTokens.PerSecond / users)
	}
	return t
}

// groups returns the groups that cfg asks for. They share the memory of the samples of c.
func (c *collector) groups(cfg *Config) []figure.Group {
	var all []figure.Group
	itl := &c.whole[answer.ITL]
	if cfg.SLO != nil {
		c.slo = figure.NewAttainer(cfg.SLO)
		all = append(all, c.slo)
	}
	if cfg.Quality != nil {
		all = append(all, figure.NewQuality(*cfg.Quality, itl))
	}
	if cfg.Economics != nil {
		all = append(all, figure.NewEconomics(*cfg.Economics, itl.Memory))
	}
	if cfg.Prefix {
		all = append(all, figure.NewPrefix())
	}
	if cfg.Realtime {
		all = append(all, figure.NewRealtime(itl.Memory))
	}
	if cfg.Phases {
		all = append(all, figure.NewPhases(itl.Memory))
	}
	if cfg.Images {
		all = append(all, figure.NewImages(itl.Memory))
	}
	if cfg.Audio {
		all = append(all, figure.NewAudio(itl.Memory))
	}
	return all
}

// A timedTPOT is the TPOT of a request that started at a time.
type timedTPOT struct {
	start uint64
	ns    float64
}
