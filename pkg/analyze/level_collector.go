package analyze

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"

	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/inference"
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
	failed   tally
	messages map[string]message // of the first failure of each class
	excluded tally
	// unreadable counts requests that the reader left out.
	unreadable int
	// startsUnknown says that the file lacks the times at which requests were sent.
	startsUnknown bool
	sources       [answer.TokenStated + 1]int // counted requests by source of their tokens
	stamps        Stamps
	starts        Stamps
	figures       []figureGroup // that were asked for
	slo           *attainer     // one of them; nil: not asked for
	timed         []timed
	tpots         []timedTPOT // nil unless certified
	certified     bool        // the summaries have certified percentiles
	streams       streamCount

	firstStart, lastEnd uint64
	sent                sentRequests
	lengths             lengths
	resent              int       // requests of all kinds that were sent again
	paused              int       // requests that a pause touched, counted or left out
	leftOut             []Span    // requests of all kinds that are left out because of a pause
	lost                *lostTime // time that does not count; nil if all counts
	output, input       stat.IntSum
	withInput           int // counted requests with a known number of input tokens

	events, shared int
	above, below   disagreement
	hidden         hiddenCount
	anomalies      anomalies
	wrong          map[answer.Quantity]wrongTally
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
		c.leftOut = append(c.leftOut, Span{p.PlaceNS, p.EndNS})
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
		c.failed.add(p.Class)
		c.addMessage(p)
		if c.slo != nil {
			c.slo.fail(&p.Measured)
		}
	default:
		c.excluded.add(string(p.Excluded))
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
	c.starts.one(p.start)
	c.lengths.add(p)
	c.streams.add(p)
	c.hidden.add(p)
	c.timed = append(c.timed, timed{p.StartNS, p.TTFT.Int(), p.E2EL.Int()})
	for _, g := range c.figures {
		g.add(&p.Measured)
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
		c.countWrong(p)
	}
	if u, events := p.VisibleTokens().V, int64(p.Events); !p.Untimed && p.TokenSource == answer.TokenUsage && events > 1 && p.Streamed == answer.StreamedYes {
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

// wants says whether the summaries have certified percentiles, and a curve.
func (c *collector) wants(certified, curve bool) {
	c.tpot.Certified, c.tpot.Curve = certified, curve
	for i := range answer.StrictMetrics {
		c.whole[i].Certified, c.whole[i].Curve = certified, curve
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

// finish returns the analysis of the experiment. sel is the collected part of the level
// and f the flow in this part; both are nil for the whole level.
func (c *collector) finish(run *export.Run, e *export.Experiment, cfg Config, sel *Selected, f *flow) Experiment {
	for _, g := range c.figures {
		c.err = errors.Join(c.err, g.end())
	}
	if sel == nil && !c.startsUnknown {
		c.spanWrong = c.wrongSpan(run, e)
	}
	if c.certified && !c.startsUnknown {
		c.setEffective()
	}
	x := Experiment{
		Mode: e.Mode, Value: e.Value,
		Load: loadOf(e),
		OK:   c.ok, Unreadable: c.unreadable, Failed: c.failed.counts(), Excluded: c.excluded.counts(),
		TokenSource: c.source(),
		TokenEvents: c.events, SharedStamps: c.shared, Backward: c.anomalies.backward,
		Stamps: c.stamps, Starts: c.starts, Resent: c.resent,
		Level: Level{Metrics: c.metrics()}, Selected: sel, Hidden: c.hidden.summary(),
	}
	if sel != nil {
		x.DurationNS = int64(sel.Counting())
		x.Throughput = f.throughput(sel.Counting().Seconds(), concurrency(e))
	} else {
		switch v := answer.Elapsed(c.firstStart, c.lastEnd); {
		case c.startsUnknown:
			why, _ := run.LevelLacks(e.Mode, e.Value, export.PartStarts)
			x.Unavailable = append(x.Unavailable, Unavailable{"throughput", "rates", why})
		case c.spanWrong != "":
			x.Unavailable = append(x.Unavailable, Unavailable{"throughput", "rates", c.spanWrong})
		case v.OK && v.V > 0 && c.firstStart != 0:
			x.DurationNS = int64(c.lost.counting(c.firstStart, c.lastEnd))
		}
		x.Throughput = c.throughput(x.DurationNS, e)
	}
	x.Unavailable = append(x.Unavailable, c.unavailable(x.Metrics, run, cfg)...)
	x.Unavailable = append(x.Unavailable, c.hidden.unavailable(x.Metrics)...)
	x.Unavailable = append(x.Unavailable, c.uncountable(x.Metrics)...)
	x.Unavailable = append(x.Unavailable, c.unstatedTokens(x.Metrics, run, cfg)...)
	x.Unavailable = append(x.Unavailable, c.impossibleMetrics(x.Metrics, x.Unavailable)...)
	for _, g := range c.figures {
		g.set(&x.Level, run)
	}
	if x.Economics != nil {
		x.Economics.Span = c.ratesSpan(sel)
	}
	if sel != nil {
		x.Unsteady = sel.warnings()
	}
	differs := drift(c.timed)
	if differs != nil && !c.startsUnknown {
		x.Unsteady = append(x.Unsteady, differs)
	}
	if cfg.Settling && !c.startsUnknown {
		x.Unsettled = unsettled(c.timed, differs != nil)
	}
	if cfg.Observer != nil {
		x.FirstTokens = firstTokens(c.timed)
	}
	x.Warnings = c.warnings(cfg, &x)
	if e.Meta != nil {
		var wrong []string
		if x.Client, wrong = e.Meta.Client.Possible(); wrong != nil {
			x.Warnings = append(x.Warnings, impossibleFigures(SubClient, "the figures of the client about itself", wrong))
		}
		if x.Client != nil && sel == nil {
			c.sent.perSecond = x.Client.AchievedPerSecond
		}
		for _, w := range e.Meta.Warnings {
			if r := RecorderWarning(w); r.Kind != KindDropped || c.anomalies.dropped == 0 { // else a warning of our own says it
				x.Warnings = append(x.Warnings, r)
			}
		}
	}
	if named := namedRate(run, e); named > 0 && !c.startsUnknown {
		x.Sent = c.sent.rate()
		if w := c.sent.warning(named, &x); w != nil {
			x.Warnings = append(x.Warnings, w)
		}
	}
	return x
}

// uncountable returns the metrics and rates that have no value because the tokenizer
// could not count a text. Metrics keep the values of the other requests.
func (c *collector) uncountable(metrics []summary.Metric) []Unavailable {
	if c.anomalies.notCounted == 0 {
		return nil
	}
	return withoutTokens(metrics, "the tokenizer could not count a text: "+c.refusal)
}

// withoutTokens returns the metrics and rates that have no value because of the number of output tokens.
func withoutTokens(metrics []summary.Metric, why string) []Unavailable {
	var all []Unavailable
	for _, m := range []answer.Metric{answer.TPOT, answer.OutputTokens} {
		if summary.Find(metrics, m) == nil {
			all = append(all, Unavailable{m.Key(), m.Label(), why})
		}
	}
	return append(all, Unavailable{"output_tokens_per_s", "token rates", why})
}

// unstatedTokens returns the metrics and rates that have no value because the file of another tool states no
// output tokens.
func (c *collector) unstatedTokens(metrics []summary.Metric, run *export.Run, cfg Config) []Unavailable {
	m := run.Meta
	others := c.streams.not + c.streams.unknown + c.anomalies.dropped + c.anomalies.notCounted + c.wrongTokens() // other functions give their reasons
	if m == nil || m.Import == nil || c.ok == 0 || c.sources[answer.TokenAuto] < c.ok || others > 0 {
		return nil
	}
	if whyLacking(run, answer.OutputTokens.Key(), "") != "" { // the report gives this reason once for the run
		return nil
	}
	why := cmp.Or(m.Import.Format, "the file") + " states no output tokens"
	if cfg.Counter == nil {
		why += "; --tokenizer counts the text"
	}
	return withoutTokens(metrics, why)
}

// throughput returns the rates over a duration.
func (c *collector) throughput(durationNS int64, e *export.Experiment) Throughput {
	var t Throughput
	if durationNS <= 0 {
		return t
	}
	s := float64(durationNS) / 1e9
	t.Requests = Rate{float64(c.ok) / s, true}
	if c.ok == c.sources[answer.TokenAuto] || c.anomalies.dropped+c.anomalies.notCounted+c.wrongTokens() > 0 || c.streams.uncounted > 0 {
		return t
	}
	t.OutputTokens = Rate{c.output.Float64() / s, true}
	if c.withInput == c.ok {
		both := c.output
		both.AddSum(c.input)
		t.TotalTokens = Rate{both.Float64() / s, true}
	}
	if users := concurrency(e); users > 0 {
		t.OutputTokensPerUser = Rate{t.OutputTokens.PerSecond / users, true}
	}
	return t
}

// loadOf returns pa-record's description of the load besides mode and value; "" if it
// has none.
func loadOf(e *export.Experiment) string {
	if e.Meta == nil {
		return ""
	}
	return e.Meta.Load
}

// mostUsers is above the users of any closed loop; a level of more is damaged.
const mostUsers = 1e9

// concurrency returns the number of users of a closed loop whose requests the file has, 0 for
// another kind of load.
// perf_analyzer's periodic mode writes concurrency 1 as a placeholder, together with a
// window from 0 to the end of time.
func concurrency(e *export.Experiment) float64 {
	value := e.Value
	if e.Meta != nil && e.Meta.Share != nil {
		value = e.Meta.Share.Value
	}
	n, err := strconv.ParseFloat(value, 64)
	w := e.WindowBoundaries
	placeholder := len(w) == 2 && w[0] == 0 && w[1] == math.MaxUint64
	placeholder = placeholder || loadOf(e) != "" // the number is not all of the load
	if e.Mode != export.ModeConcurrency || err != nil || placeholder || !(n < mostUsers) {
		return 0
	}
	return n
}

// source returns the one source of all output tokens, or TokenMixed.
func (c *collector) source() answer.TokenSource {
	found := answer.TokenAuto
	for s, n := range c.sources {
		switch {
		case n == 0 || answer.TokenSource(s) == answer.TokenAuto:
		case found == answer.TokenAuto:
			found = answer.TokenSource(s)
		default:
			return answer.TokenMixed
		}
	}
	return found
}

// ratesSpan returns the time of the rates: the selected part, or from the first start to the last
// response.
func (c *collector) ratesSpan(sel *Selected) Span {
	if sel != nil {
		return sel.Span
	}
	if c.startsUnknown {
		return Span{}
	}
	return Span{c.firstStart, c.lastEnd}
}

// groups returns the groups that cfg asks for. They share the memory of the samples of c.
func (c *collector) groups(cfg *Config) []figureGroup {
	var all []figureGroup
	itl := &c.whole[answer.ITL]
	if cfg.SLO != nil {
		c.slo = newAttainer(cfg.SLO)
		all = append(all, c.slo)
	}
	if cfg.Quality != nil {
		all = append(all, newQuality(*cfg.Quality, itl))
	}
	if cfg.Economics != nil {
		all = append(all, newEconomics(*cfg.Economics, itl.Memory))
	}
	if cfg.Prefix {
		all = append(all, &prefixCollector{})
	}
	if cfg.Phases {
		all = append(all, newPhases(itl.Memory))
	}
	return all
}

// A timedTPOT is the TPOT of a request that started at a time.
type timedTPOT struct {
	start uint64
	ns    float64
}

// setEffective computes how many independent values the latencies of the requests are worth, from their
// order in time, for their certified percentiles.
func (c *collector) setEffective() {
	worth := func(values []float64) float64 {
		if len(values) == 0 {
			return 0
		}
		return inference.NewSeries(values).Effective()
	}
	slices.SortFunc(c.timed, func(a, b timed) int { return cmp.Compare(a.start, b.start) })
	c.whole[answer.TTFT].Effective = worth(inTime(c.timed, func(t *timed) int64 { return t.ttft }))
	c.whole[answer.E2EL].Effective = worth(inTime(c.timed, func(t *timed) int64 { return t.e2el }))
	slices.SortFunc(c.tpots, func(a, b timedTPOT) int { return cmp.Compare(a.start, b.start) })
	values := make([]float64, len(c.tpots))
	for i, t := range c.tpots {
		values[i] = t.ns
	}
	c.tpot.Effective = worth(values)
}
