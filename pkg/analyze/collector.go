package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A collector gathers the values of one experiment: 8 bytes for each value of
// each metric, 24 for each request, and 16 for each of which only the whole level
// tells whether it was streamed; nothing else grows with their number.
type collector struct {
	whole  [len(Strict)]sample[int64]
	ratios [len(Strict)]sample[float64]

	ok       int
	failed   tally
	messages map[string]string // of the first failure of each class
	excluded tally
	// unreadable requests did not come this far.
	unreadable int
	// adrift says that it is not known when requests were sent.
	adrift bool
	// lateStart says that the kernel's starts are the ends of first writes, as
	// pa-record once took them, which may be later than the answer.
	lateStart bool
	sources   [answer.TokenStated + 1]int // counted requests by source of their tokens
	stamps    Stamps
	starts    Stamps
	slo       *attainer // nil: none asked for
	// sloStreamed is slo if the level turns out to be streamed; nil where that
	// is known.
	sloStreamed *attainer
	timed       []timed
	streams     streamCount
	undecided   []undecided

	firstStart, lastEnd uint64
	resent              int       // requests of all kinds that were sent again
	paused              int       // requests that a pause touched: counted ones, or left out for that
	leftOut             []Span    // requests of all kinds that are left out because of a pause
	lost                *lostTime // what of the time does not count; nil: nothing
	output, input       quantile.IntSum
	withInput           int // counted requests with a known number of input tokens

	events, shared int
	above, below   disagreement
	odd            oddities
	refusal        string // why the tokenizer could not count the first of odd.notCounted
}

// oddities count what a reader of the report must know.
type oddities struct {
	noToken    int // responses but no token event
	noFrom     int // the time to count from is missing
	noTokens   int // no number of output tokens from the source asked for
	notCounted int // the tokenizer could not count their outputs
	assumed    int // no outputs: each response counted
	dropped    int // outputs left out by the recorder: tokens are not known
	unreadable int // events and bodies
	backward   int // gaps below 0
	early      int // first response before the instant to count from: of these
	sooner     int // the request was not sent whole yet
	atStart    int // before the start, which the kernel took
	impossible int // spans beyond 292 years
	gaps       int
}

// A disagreement sums up requests whose usage is not the number of token
// events.
type disagreement struct {
	requests       int
	tokens, events quantile.IntSum
}

func (d *disagreement) add(tokens, events int64) {
	d.requests++
	d.tokens.Add(tokens)
	d.events.Add(events)
}

// add takes a request; it keeps nothing of p.
func (c *collector) add(p *Point) {
	if p.Paused && (p.Counted || p.Excluded == answer.ExcludedPaused) {
		c.paused++
	}
	if p.LeftOut {
		c.leftOut = append(c.leftOut, Span{p.placeNS, p.EndNS})
	}
	if p.resent {
		c.resent++
	}
	switch {
	case p.Counted:
		c.ok++
		c.count(p)
	case p.Excluded == "failed":
		c.failed.add(p.Class)
		if c.messages == nil {
			c.messages = map[string]string{}
		}
		if c.messages[p.Class] == "" {
			c.messages[p.Class] = strings.Clone(p.Message)
		}
		if c.slo != nil {
			c.slo.fail(p)
		}
		if c.sloStreamed != nil {
			c.sloStreamed.fail(p)
		}
	default:
		c.excluded.add(p.Excluded)
	}
}

// count takes the values of a request that counts.
func (c *collector) count(p *Point) {
	for i := range Strict {
		switch d := &Strict[i]; {
		case d.one != nil:
			if v := d.one(&p.Measures); v.OK {
				c.whole[i].add(v.V)
			}
		case d.many != nil:
			c.whole[i].x = append(c.whole[i].x, d.many(&p.Measures)...)
		default:
			if v, ok := d.ratio(&p.Measures); ok {
				c.ratios[i].add(v)
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
	c.events += p.Events
	c.shared += p.SharedStamps
	c.stamps.plus(p.stamps)
	c.starts.one(p.start)
	if p.Streamed == answer.StreamedUnknown && !p.numbers {
		c.undecide(p)
	}
	c.streams.add(p)
	c.timed = append(c.timed, timed{p.StartNS, orNone(p.TTFT), orNone(p.E2EL)})
	if c.slo != nil {
		c.slo.count(p)
	}
	if c.sloStreamed != nil {
		q := *p
		q.AsStreamed()
		c.sloStreamed.count(&q)
	}
	c.note(p)
}

// note counts what is odd about a request that counts.
func (c *collector) note(p *Point) {
	o := &c.odd
	o.gaps += len(p.Gaps)
	o.backward += p.Backward
	o.impossible += p.Impossible
	o.unreadable += p.unreadable
	if p.dropped {
		o.dropped++
	} else if p.Events == 0 && !p.numbers {
		o.noToken++
	}
	if p.FromNS == 0 {
		o.noFrom++
	} else if p.early {
		o.early++
		switch {
		case p.answeredEarly:
			o.sooner++
		case p.start == export.SourceKernel && p.FromNS == p.StartNS:
			o.atStart++
		}
	}
	switch {
	case p.NotCounted != nil:
		if o.notCounted++; c.refusal == "" {
			c.refusal = p.NotCounted.Error()
		}
	case !p.OutputTokens.OK && !p.dropped && !p.numbers:
		o.noTokens++
	}
	if p.assumed {
		o.assumed++
	}
	if u, events := p.OutputTokens.V, int64(p.Events); p.TokenSource == answer.TokenUsage && events > 1 && p.Streamed == answer.StreamedYes {
		switch {
		case u > events:
			c.above.add(u, events)
		case u < events:
			c.below.add(u, events)
		}
	}
}

// metrics sums up what was collected.
func (c *collector) metrics() []Metric {
	var all []Metric
	for i := range Strict {
		s := c.whole[i].summary()
		if s == nil {
			s = c.ratios[i].summary()
		}
		if s != nil && (s.Max != 0 || !Strict[i].rare) {
			all = append(all, Metric{Definition: &Strict[i], Summary: s})
		}
	}
	return all
}

// finish returns the analysis of the experiment. sel is the part of it that was
// collected, and f what flowed in that; nil for all of it.
func (c *collector) finish(run *export.Run, e *export.Experiment, cfg Config, sel *Selected, f *flow) Experiment {
	x := Experiment{
		Mode: e.Mode, Value: e.Value,
		Load: loadOf(e),
		OK:   c.ok, Unreadable: c.unreadable, Failed: c.failed.counts(), Excluded: c.excluded.counts(),
		TokenSource: c.source(),
		TokenEvents: c.events, SharedStamps: c.shared, Backward: c.odd.backward,
		Stamps: c.stamps, Starts: c.starts, Resent: c.resent,
		Metrics: c.metrics(), Selected: sel,
	}
	if sel != nil {
		x.DurationNS = int64(sel.Counting())
		x.Throughput = f.throughput(sel.Counting().Seconds(), concurrency(e))
	} else {
		if v := answer.Elapsed(c.firstStart, c.lastEnd); v.OK && v.V > 0 && c.firstStart != 0 && !c.adrift {
			x.DurationNS = int64(c.lost.counting(c.firstStart, c.lastEnd))
		}
		x.Throughput = c.throughput(x.DurationNS, e)
	}
	if c.slo != nil {
		x.SLO = c.slo.finish(x.DurationNS)
	}
	if sel != nil {
		x.Unsteady = sel.warnings()
	}
	if err := drift(c.timed); err != nil && !c.adrift {
		x.Unsteady = append(x.Unsteady, err)
	}
	x.Unavailable = append(c.unavailable(x.Metrics, run, cfg), c.uncountable(x.Metrics)...)
	x.Warnings = c.warnings(cfg, &x)
	if e.Meta != nil {
		x.Client = e.Meta.Client
		for _, w := range e.Meta.Warnings {
			if r := RecorderWarning(w); r.Kind != KindDropped || c.odd.dropped == 0 { // else a warning of our own says it
				x.Warnings = append(x.Warnings, r)
			}
		}
	}
	return x
}

// uncountable returns the metrics and rates that have no value because the tokenizer
// could not count a text. Metrics keep the values of the other requests.
func (c *collector) uncountable(metrics []Metric) []Unavailable {
	if c.odd.notCounted == 0 {
		return nil
	}
	why := "the tokenizer could not count a text: " + c.refusal
	var all []Unavailable
	for i := range Strict {
		if d := &Strict[i]; (d.Key == "tpot_ns" || d.Key == "output_tokens") && metricOf(metrics, d.Key) == nil {
			all = append(all, Unavailable{d.Key, d.Name, why})
		}
	}
	return append(all, Unavailable{"output_tokens_per_s", "token rates", why})
}

func (c *collector) throughput(durationNS int64, e *export.Experiment) Throughput {
	var t Throughput
	if durationNS <= 0 {
		return t
	}
	s := float64(durationNS) / 1e9
	t.Requests = Rate{float64(c.ok) / s, true}
	if c.ok == c.sources[answer.TokenAuto] || c.odd.dropped+c.odd.notCounted > 0 || c.streams.uncounted > 0 {
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

// loadOf returns what pa-record says of the load besides mode and value.
func loadOf(e *export.Experiment) string {
	if e.Meta == nil {
		return ""
	}
	return e.Meta.Load
}

// concurrency returns the number of users of a closed loop, 0 when the level
// is something else. perf_analyzer's periodic mode writes concurrency 1 as a
// placeholder, and shows that by a window from 0 to the end of time.
func concurrency(e *export.Experiment) float64 {
	n, err := strconv.ParseFloat(e.Value, 64)
	w := e.WindowBoundaries
	placeholder := len(w) == 2 && w[0] == 0 && w[1] == math.MaxUint64
	placeholder = placeholder || loadOf(e) != "" // the number is not all of the load
	if e.Mode != export.ModeConcurrency || err != nil || placeholder {
		return 0
	}
	return n
}

// source sums up where the output tokens come from.
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

func (c *collector) warnings(cfg Config, x *Experiment) []error {
	var w []error
	o, ok := &c.odd, int64(c.ok)
	// say adds a warning about n[0] things, if there are any.
	say := func(kind WarningKind, text func(n []int64) string, n ...int64) {
		if n[0] > 0 {
			w = append(w, counted(kind, text(make([]int64, len(n))), text, n...))
		}
	}
	// requests adds one about n of the successful requests.
	requests := func(kind WarningKind, n int, rest string) {
		say(kind, func(n []int64) string { return ofRequests(n) + rest }, int64(n), ok)
	}
	if c.ok == 0 {
		w = append(w, said(KindNothing, "no measured request succeeded, so there are no figures"))
	}
	for _, f := range x.Failed {
		class, first := f.Name, ""
		if m := c.messages[class]; m != "" {
			first = fmt.Sprintf("; the first message: %q", sanitize.Clip(m, maxQuotedBytes))
		}
		w = append(w, counted(KindFailed, class, func(n []int64) string {
			return ofRequests(n) + " failed: " + class + first
		}, int64(f.N), ok+int64(x.FailedRequests())))
	}
	requests(KindMissingTimes, o.noToken, " had no output in any response: they have an E2EL and no TTFT")
	say(KindTokenCount, func(n []int64) string {
		return "the file holds no outputs of " + howMany(n[0], "request", "requests") + ": each response counts as a token, an empty last one too"
	}, int64(o.assumed))
	requests(KindDropped, o.dropped, " lost their outputs because the recorder's disk was too slow: they have an E2EL only, and token rates are n/a; record to a faster disk")
	say(KindUnreadable, func(n []int64) string {
		return howMany(n[0], "event or body", "events or bodies") + " broke the protocol; they do not count as tokens"
	}, int64(o.unreadable))
	requests(KindMissingTimes, o.noFrom, fmt.Sprintf(" had no %q time recorded: no TTFT and no E2EL; choose another --from", cfg.From))
	requests(KindClock, o.sooner, fmt.Sprintf(" got a response before the last byte was sent, so times from %q are negative; use --from start", cfg.From))
	byClock := o.early - o.sooner
	if c.lateStart {
		byClock -= o.atStart
		requests(KindClock, o.atStart, " got a response before the first write was done, which is the start in this file, so times are negative; use --from issued, or record again")
	}
	requests(KindClock, byClock, fmt.Sprintf(" got a response before the %s: the clock was set back, or the times come from different clocks", cfg.From))
	say(KindClock, func(n []int64) string {
		return grouped(n[0]) + " of " + howMany(n[1], "gap", "gaps") + " between tokens were below 0: the clock was set back during the run"
	}, int64(o.backward), int64(o.gaps))
	say(KindClock, func(n []int64) string {
		return howMany(n[0], "time", "times") + " of more than 292 years left out: the file is damaged"
	}, int64(o.impossible))
	if n := c.streams.not; n < c.ok {
		requests(KindMissingTimes, n, " had an answer that was not streamed: they have an E2EL and no TTFT, TTST, ITL or TPOT")
	}
	if cfg.TokenSource != answer.TokenAuto {
		requests(KindTokenCount, o.noTokens, fmt.Sprintf(" had no number of tokens from %s: not in the token metrics; choose another --token-source", cfg.TokenSource))
	}
	if o.notCounted > 0 {
		w = append(w, counted(KindTokenCount, "not counted", func(n []int64) string {
			return ofRequests(n) + " had an output that the tokenizer could not count, so they have no output tokens and no TPOT, and token rates are n/a: " + c.refusal + "; check the tokenizer file"
		}, int64(o.notCounted), ok))
	}
	if x.TokenSource == answer.TokenMixed {
		w = append(w, c.mixture())
	}
	say(KindTokenCount, func(n []int64) string {
		return fmt.Sprintf("the server counts more tokens than it sent chunks in %s (%s tokens in %s chunks), so ITL is the time between chunks", ofRequests(n), grouped(n[2]), grouped(n[3]))
	}, int64(c.above.requests), ok, wholeOf(c.above.tokens), wholeOf(c.above.events))
	say(KindTokenCount, func(n []int64) string {
		return fmt.Sprintf("the server counts fewer tokens than it sent chunks of output in %s (%s tokens in %s chunks); --token-source responses counts chunks", ofRequests(n), grouped(n[2]), grouped(n[3]))
	}, int64(c.below.requests), ok, wholeOf(c.below.tokens), wholeOf(c.below.events))
	for _, u := range x.Unsteady {
		w = append(w, u)
	}
	if x.SLO != nil {
		w = append(w, x.SLO.warnings()...)
	}
	return w
}

// mixture says how many requests have their number of output tokens from where.
func (c *collector) mixture() error {
	return counted(KindTokenCount, "sources", func(n []int64) string {
		text := fmt.Sprintf("output tokens are counted in several ways: by the server's usage in %s, by the tokenizer in %s, by responses in %s", howMany(n[0], "request", "requests"), grouped(n[1]), grouped(n[2]))
		if n[3] > 0 {
			text += ", by what the file states in " + grouped(n[3])
		}
		return text + "; --token-source chooses one"
	}, int64(c.sources[answer.TokenUsage]), int64(c.sources[answer.TokenTokenizer]), int64(c.sources[answer.TokenResponses]), int64(c.sources[answer.TokenStated]))
}

// A tally counts by name.
type tally map[string]int

func (t *tally) add(name string) {
	if *t == nil {
		*t = tally{}
	}
	(*t)[name]++
}

// counts returns the tally, most frequent first.
func (t tally) counts() []Count {
	var c []Count
	for name, n := range t {
		c = append(c, Count{name, n})
	}
	slices.SortFunc(c, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return c
}

// maxQuotedBytes bounds foreign text in a message.
const maxQuotedBytes = 200
