package analyze

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// A collector gathers the values of one experiment: 8 bytes for each value of
// each metric, nothing else grows with the number of requests.
type collector struct {
	whole  [len(Strict)]sample[int64]
	ratios [len(Strict)]sample[float64]

	ok       int
	failed   tally
	messages map[string]string // of the first failure of each class
	excluded tally
	// unreadable requests did not come this far.
	unreadable int
	sources    [TokenMixed]int // counted requests by source of their tokens
	last       Measured        // of the request that was added last

	firstStart, lastEnd uint64
	output, input       wideSum
	withInput           int // counted requests with a known number of input tokens

	events, shared int
	above, below   disagreement
	odd            oddities
}

// oddities count what a reader of the report must know.
type oddities struct {
	noToken    int // responses but no token event
	noFrom     int // the time to count from is missing
	noTokens   int // no number of output tokens from the source asked for
	assumed    int // no outputs: each response counted
	unreadable int // events and bodies
	backward   int // gaps below 0
	early      int // first response before the start
	impossible int // spans beyond 292 years
	gaps       int
}

// A disagreement sums up requests whose usage is not the number of token
// events.
type disagreement struct {
	requests       int
	tokens, events wideSum
}

func (d *disagreement) add(tokens, events int64) {
	d.requests++
	d.tokens.add(tokens)
	d.events.add(events)
}

func (c *collector) add(m *Meter, r *export.Request) error {
	q, err := m.Measure(r)
	if err != nil {
		return fmt.Errorf("request %d: %w", r.ID, err)
	}
	c.last = *q
	switch {
	case q.Counted:
		c.ok++
		c.count(r, q)
	case q.Excluded == "failed":
		c.failed.add(q.Class)
		if c.messages == nil {
			c.messages = map[string]string{}
		}
		if c.messages[q.Class] == "" {
			c.messages[q.Class] = strings.Clone(q.Message)
		}
	default:
		c.excluded.add(q.Excluded)
	}
	return nil
}

// count takes the values of a request that counts.
func (c *collector) count(r *export.Request, q *Measured) {
	for i := range Strict {
		switch d := &Strict[i]; {
		case d.one != nil:
			if v := d.one(&q.Measures); v.OK {
				c.whole[i].add(v.V)
			}
		case d.many != nil:
			c.whole[i].x = append(c.whole[i].x, d.many(&q.Measures)...)
		default:
			if v, ok := d.ratio(&q.Measures); ok {
				c.ratios[i].add(v)
			}
		}
	}
	if end, ok := r.EndNS(); ok {
		if c.firstStart == 0 || r.StartNS < c.firstStart {
			c.firstStart = r.StartNS
		}
		c.lastEnd = max(c.lastEnd, end)
	}
	c.sources[q.TokenSource]++
	if q.OutputTokens.OK {
		c.output.add(q.OutputTokens.V)
	}
	if q.InputTokens.OK {
		c.input.add(q.InputTokens.V)
		c.withInput++
	}
	c.events += q.Events
	c.shared += q.SharedStamps
	c.note(r, q)
}

// note counts what is odd about a request that counts.
func (c *collector) note(r *export.Request, q *Measured) {
	o := &c.odd
	o.gaps += len(q.Gaps)
	o.backward += q.Backward
	o.impossible += q.Impossible
	o.unreadable += q.Answer.Unreadable
	if q.Events == 0 {
		o.noToken++
	}
	if q.FromNS == 0 {
		o.noFrom++
	} else if r.Responses[0].RecvNS < q.FromNS {
		o.early++
	}
	if !q.OutputTokens.OK {
		o.noTokens++
	}
	if q.Answer.Assumed {
		o.assumed++
	}
	if u, events := q.Answer.Usage.Output.V, int64(q.Events); q.TokenSource == TokenUsage && events > 1 {
		switch {
		case u > events:
			c.above.add(u, events)
		case u < events:
			c.below.add(u, events)
		}
	}
}

func (c *collector) finish(e *export.Experiment, cfg Config) Experiment {
	x := Experiment{
		Mode: e.Mode, Value: e.Value,
		OK: c.ok, Unreadable: c.unreadable, Failed: c.failed.counts(), Excluded: c.excluded.counts(),
		TokenSource: c.source(),
		TokenEvents: c.events, SharedStamps: c.shared,
	}
	if v := span(c.firstStart, c.lastEnd); v.OK && v.V > 0 && c.firstStart != 0 {
		x.DurationNS = v.V
	}
	for i := range Strict {
		s := c.whole[i].summary()
		if s == nil {
			s = c.ratios[i].summary()
		}
		if s != nil && (s.Max != 0 || !Strict[i].rare) {
			x.Metrics = append(x.Metrics, Metric{Definition: &Strict[i], Summary: s})
		}
	}
	x.Throughput = c.throughput(x.DurationNS, e)
	x.Warnings = c.warnings(cfg, &x)
	if e.Meta != nil {
		for _, w := range e.Meta.Warnings {
			x.Warnings = append(x.Warnings, warning("recorder: "+w))
		}
	}
	return x
}

func (c *collector) throughput(durationNS int64, e *export.Experiment) Throughput {
	var t Throughput
	if durationNS <= 0 {
		return t
	}
	s := float64(durationNS) / 1e9
	t.Requests = Rate{float64(c.ok) / s, true}
	if c.ok == c.sources[TokenAuto] {
		return t
	}
	t.OutputTokens = Rate{c.output.float() / s, true}
	if c.withInput == c.ok {
		both := c.output
		both.plus(c.input)
		t.TotalTokens = Rate{both.float() / s, true}
	}
	if users := concurrency(e); users > 0 {
		t.OutputTokensPerUser = Rate{t.OutputTokens.PerSecond / users, true}
	}
	return t
}

// concurrency returns the number of users of a closed loop, 0 when the level
// is something else. perf_analyzer's periodic mode writes concurrency 1 as a
// placeholder, and shows that by a window from 0 to the end of time.
func concurrency(e *export.Experiment) float64 {
	n, err := strconv.ParseFloat(e.Value, 64)
	w := e.WindowBoundaries
	placeholder := len(w) == 2 && w[0] == 0 && w[1] == math.MaxUint64
	if e.Mode != export.ModeConcurrency || err != nil || placeholder {
		return 0
	}
	return n
}

// source sums up where the output tokens come from.
func (c *collector) source() TokenSource {
	found := TokenAuto
	for s, n := range c.sources {
		switch {
		case n == 0 || TokenSource(s) == TokenAuto:
		case found == TokenAuto:
			found = TokenSource(s)
		default:
			return TokenMixed
		}
	}
	return found
}

func (c *collector) warnings(cfg Config, x *Experiment) []error {
	var w []error
	o := &c.odd
	say := func(n int, format string, args ...any) {
		if n > 0 {
			w = append(w, warningf(format, args...))
		}
	}
	if c.ok == 0 {
		w = append(w, warning("no successful measured request: there is nothing to measure"))
	}
	for _, f := range x.Failed {
		first := ""
		if m := c.messages[f.Name]; m != "" {
			first = fmt.Sprintf(", the first with %q", cut(m))
		}
		w = append(w, warningf("%d of %s failed: %s%s", f.N, plural(c.ok+x.FailedRequests(), "request", "requests"), f.Name, first))
	}
	of := func(n int) string { return fmt.Sprintf("%d of %s", n, plural(c.ok, "request", "requests")) }
	say(o.noToken, "no response of %s has output: there is an end-to-end latency only", of(o.noToken))
	say(o.assumed, "no outputs in the file: every response of %s counted as a token, an empty final one too", plural(o.assumed, "request", "requests"))
	say(o.unreadable, "%s not what the protocol says: not counted as tokens", plural(o.unreadable, "event or body is", "events or bodies are"))
	say(o.noFrom, "%q is not recorded for %s: no TTFT and no end-to-end latency", cfg.From, of(o.noFrom))
	say(o.early, "a response comes before the %s in %s: the clock was set back, or the times come from different clocks", cfg.From, of(o.early))
	say(o.backward, "%d of %s between token events below 0: the clock was set back during the run", o.backward, plural(o.gaps, "gap", "gaps"))
	say(o.impossible, "left out: %s of more than 292 years; the times are damaged", plural(o.impossible, "span", "spans"))
	if cfg.TokenSource != TokenAuto {
		say(o.noTokens, "no output tokens from %s for %s: left out of the token metrics", cfg.TokenSource, of(o.noTokens))
	}
	if x.TokenSource == TokenMixed {
		w = append(w, warningf("output tokens come from usage for %s, from the tokenizer for %d, from the number of responses for %d",
			plural(c.sources[TokenUsage], "request", "requests"), c.sources[TokenTokenizer], c.sources[TokenResponses]))
	}
	say(c.above.requests, "usage and token events disagree for %s: %s tokens in %s events; a chunk is not a token, ITL is per chunk",
		of(c.above.requests), c.above.tokens.big(), c.above.events.big())
	say(c.below.requests, "usage undercounts for %s: %s tokens in %s events, each of which added output; --token-source responses counts events",
		of(c.below.requests), c.below.tokens.big(), c.below.events.big())
	return w
}

// plural returns "1 request" or "2 requests".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
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

func warning(s string) error { return errors.New(s) }

func warningf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// cut bounds foreign text in a message.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
