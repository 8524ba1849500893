package answer

import (
	"slices"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/export"
)

// Definitions is the version of the results of a [Deriver]. It changes whenever the
// results of a [Decoder] or a [Meter] change, or the counts of a tokenizer, so that derived
// values in older files are not mistaken for present ones.
const Definitions = 5

// TokenCounting says how a [Deriver] counts tokens. The zero value takes the best source of each
// request and has no tokenizer.
type TokenCounting struct {
	// TokenSource is the source of the numbers of output tokens, as in a Config.
	TokenSource TokenSource
	// Counter counts tokens of texts; nil means that there is no tokenizer. Forks of a
	// Deriver call it in several goroutines.
	Counter TokenCounter
	// Tokenizer is the SHA-256 of the Counter's file in hex.
	Tokenizer string
}

// A Deriver computes the derived values that columnar files store, with latencies from the
// start of a request. With a tokenizer it also counts the input tokens that nobody stated.
//
// A Deriver is for one goroutine.
type Deriver struct {
	run    *export.Run
	tokens TokenCounting
	meter  *Meter
	out    export.Derived
	model  string
	begun  bool // Derive was called
	// notCounted is the number of requests with a text that the tokenizer could not count,
	// of this Deriver and its forks.
	notCounted *atomic.Int64
	summary    export.ResponseSummary
	// Buffers of setITL.
	choices []int // for each event, the number of its choice
	ends    []int // for each choice, the index in gaps after its last gap
	gaps    []int64
}

var _ export.Deriver = (*Deriver)(nil)

// NewDeriver returns a Deriver for the requests of run, without a tokenizer. It keeps a copy
// of run, which a Reader may complete while it reads.
func NewDeriver(run *export.Run) *Deriver { return NewTokenDeriver(run, TokenCounting{}) }

// NewTokenDeriver is like NewDeriver, but the Deriver counts tokens as tokens says.
func NewTokenDeriver(run *export.Run, tokens TokenCounting) *Deriver {
	copied := *run
	return newDeriver(&copied, tokens, &atomic.Int64{})
}

func newDeriver(run *export.Run, tokens TokenCounting, notCounted *atomic.Int64) *Deriver {
	cfg := Config{TokenSource: tokens.TokenSource, Counter: tokens.Counter, Tokenizer: tokens.Tokenizer}
	d := &Deriver{run: run, tokens: tokens, meter: NewMeter(run, cfg), notCounted: notCounted}
	d.meter.bounds = boundless() // who reads the columns decides what can be true, and can say what could not
	return d
}

// Fork implements export.Deriver. NotCounted of its Derivation is the number of all
// forks together.
func (d *Deriver) Fork() export.Deriver { return newDeriver(d.run, d.tokens, d.notCounted) }

// Derivation describes the derived values. Its Model is known after the first Derive, its
// NotCounted after the last one.
func (d *Deriver) Derivation() export.Derivation {
	return export.Derivation{
		Definitions: Definitions, TokenSource: configuredSource(d.tokens.TokenSource),
		Tokenizer: d.tokens.Tokenizer, NotCounted: d.notCounted.Load(), Model: d.model,
	}
}

// autoSource is the name of TokenAuto in a Derivation.
const autoSource = "auto"

// configuredSource returns the name of s in a Derivation.
func configuredSource(s TokenSource) string {
	if s == TokenAuto {
		return autoSource
	}
	return s.String()
}

// parseConfiguredSource returns the source that Derivation.TokenSource names: "auto",
// "usage", "tokenizer" or "responses".
func parseConfiguredSource(name string) (TokenSource, error) {
	if name == autoSource {
		return TokenAuto, nil
	}
	return ParseTokenSource(name)
}

// Derive decodes and measures r. The result is valid until the next call.
func (d *Deriver) Derive(r *export.Request) *export.Derived {
	if !d.begun {
		d.begun, d.model = true, ModelOf(r)
	}
	return d.deriveAnswer(r, d.meter.decoder.Decode(r))
}

// deriveAnswer measures r, whose answer is a. The result is valid until the next call.
func (d *Deriver) deriveAnswer(r *export.Request, a *Answer) *export.Derived {
	q := d.meter.MeasureAnswer(r, a)
	x := &d.out
	*x = export.Derived{
		Events: x.Events[:0], ITL: x.ITL[:0],
		Failure: a.Failure, Assumed: a.Assumed, Unreadable: a.Unreadable,
		Excluded: q.Excluded, Class: q.Class,
		TTFT: q.TTFT, E2EL: q.E2EL,
		InputTokens: q.InputTokens, OutputTokens: q.OutputTokens,
		ReasoningTokens: q.ReasoningTokens, CachedTokens: q.CachedTokens,
		Server: q.Server, EventTokens: a.EventTokens,
	}
	if q.TokenSource != TokenAuto {
		x.TokenSource = q.TokenSource.String()
	}
	if q.Streamed != StreamedUnknown {
		yes := q.Streamed == StreamedYes
		x.Streamed = &yes
	}
	x.TPOT, x.HasTPOT = q.TPOT()
	x.HiddenTokens = q.HiddenTokens
	if q.Events > 1 {
		x.TimedTokens = q.Timed()
	}
	for i := range a.Events {
		e := &a.Events[i]
		x.Events = append(x.Events, export.TokenEvent{Response: int32(e.Response), Choice: int64(e.Choice), Reasoning: e.Reasoning, Tokens: e.Tokens})
	}
	switch {
	case len(q.Gaps) == 0:
	case len(a.choices) == 1:
		x.ITL = append(x.ITL, q.Gaps)
	default:
		d.setITL(a)
	}
	x.TTFAT = q.TTFAT
	d.summarize(r)
	if len(q.Wrong) > 0 { // a report warns about the values that were left out
		x.ITLEvents = export.Int{}
	}
	refused := q.NotCounted != nil
	if d.tokens.Counter != nil && !x.InputTokens.OK {
		n, err := countPrompt(d.tokens.Counter, r)
		refused = refused || err != nil
		x.InputTokens, x.InputCounted = n, n.OK
	}
	if refused {
		d.notCounted.Add(1)
	}
	return x
}

// summarize sets Responses, and ITLEvents if the other values tell a report as much as
// the responses and events do.
func (d *Deriver) summarize(r *export.Request) {
	x, s := &d.out, &d.summary
	*s = export.ResponseSummary{N: len(r.Responses)}
	fits := func(t uint64) bool { return t > export.EarliestSummary && t < export.LatestSummary }
	if r.Stated != nil || s.N > 0 && (!fits(r.StartNS) || !x.E2EL.OK) {
		return
	}
	for i := range r.Responses {
		switch p := &r.Responses[i]; {
		case !fits(p.RecvNS):
			return
		case p.Source == export.SourceKernel:
			s.Kernel++
		case p.Source == export.SourceUser:
			s.User++
		}
	}
	if s.N > 0 {
		s.First = int64(r.Responses[0].RecvNS - r.StartNS)
		s.Last = int64(r.Responses[s.N-1].RecvNS - r.StartNS)
		if s.Last != x.E2EL.V {
			return
		}
	}
	x.Responses = s
	n := len(x.Events)
	for i := range x.Events {
		if x.Events[i].Choice != x.Events[0].Choice {
			return
		}
	}
	if x.EventTokens || n > 0 && !x.TTFT.OK || n > 1 && (len(x.ITL) != 1 || len(x.ITL[0]) != n-1) {
		return
	}
	x.ITLEvents = export.IntOf(int64(n))
}

// setITL sets ITL: the gaps of each choice, the choices in the order of their first events.
func (d *Deriver) setITL(a *Answer) {
	d.choices, d.ends = d.choices[:0], d.ends[:0]
	for i := range a.Events {
		if prev := a.Events[i].Prev; prev >= 0 {
			d.choices = append(d.choices, d.choices[prev])
			d.ends[d.choices[prev]]++
		} else {
			d.choices = append(d.choices, len(d.ends))
			d.ends = append(d.ends, 0)
		}
	}
	d.gaps = slices.Grow(d.gaps[:0], len(a.Events))[:len(a.Events)]
	next := 0
	for c, n := range d.ends { // no gaps yet: each choice ends where it starts
		d.ends[c] = next
		next += n
	}
	starts := slices.Clone(d.ends)
	for i := range a.Events {
		e := &a.Events[i]
		if e.Prev < 0 {
			continue
		}
		if gap := Elapsed(a.Events[e.Prev].RecvNS, e.RecvNS); gap.OK {
			d.gaps[d.ends[d.choices[i]]] = gap.V
			d.ends[d.choices[i]]++
		}
	}
	for c, from := range starts {
		if to := d.ends[c]; to > from {
			d.out.ITL = append(d.out.ITL, d.gaps[from:to:to])
		}
	}
}

// Matches reports whether a Meter with cfg can use the derived values of a file, which d
// describes. Every file with the present definitions holds the token events. Whether it
// holds the usage of all requests, and the counts of the tokenizer, depends on the token
// source that its columns were computed with.
func (cfg *Config) Matches(d export.Derivation) bool {
	stored, err := parseConfiguredSource(d.TokenSource)
	if d.Definitions != Definitions || d.NotCounted != 0 || err != nil {
		return false
	}
	sameTokenizer := d.Tokenizer != "" && cfg.Tokenizer == d.Tokenizer
	switch cfg.TokenSource {
	case TokenResponses:
		return true
	case TokenUsage:
		return stored == TokenAuto || stored == TokenUsage
	case TokenTokenizer:
		return stored == TokenTokenizer && sameTokenizer
	case TokenAuto:
		if cfg.Counter != nil {
			return stored == TokenAuto && sameTokenizer
		}
		return stored == TokenAuto
	}
	return false
}

// MeasureDerived returns the result that Measure returns for r, but takes the answer from
// d, which a Deriver computed for r. r needs no inputs and outputs. The result is valid
// until the next call.
func (m *Meter) MeasureDerived(r *export.Request, d *export.Derived) *Measured {
	m.decoder.restore(r, d)
	return m.MeasureAnswer(r, &m.decoder.a)
}

// restore sets d.a to the answer that x stores.
func (d *Decoder) restore(r *export.Request, x *export.Derived) {
	stored := StreamedUnknown
	if x.Streamed != nil {
		stored = streamedIf(*x.Streamed)
	}
	d.a = Answer{
		Events: d.a.Events[:0], choices: d.a.choices[:0], stored: &stored,
		Failure: x.Failure, Content: Content{Assumed: x.Assumed, Unreadable: x.Unreadable, Dropped: r.OutputsDropped, Numbers: d.Numbers},
		Usage:  Usage{Input: x.InputTokens, Reasoning: x.ReasoningTokens, Cached: x.CachedTokens},
		Server: x.Server, EventTokens: x.EventTokens,
	}
	events := len(x.Events)
	if r.Summary != nil {
		d.a.brief = x
		events = int(x.ITLEvents.V)
	}
	if x.InputCounted { // no definition of ours counts it
		d.a.Usage.Input = export.Int{}
	}
	switch x.TokenSource {
	case TokenUsage.String(), TokenIDs.String():
		if x.TokenSource == TokenIDs.String() {
			d.a.ids = x.OutputTokens
		} else {
			d.a.Usage.Output = x.OutputTokens
		}
		d.a.Timed, d.a.Hidden = x.TimedTokens, x.HiddenTokens
		d.a.Untimed = !x.TimedTokens.OK && events > 1 && x.OutputTokens.V > 1
	case TokenTokenizer.String():
		d.a.counted = x.OutputTokens
	}
	d.responses = r.Responses
	restored := slices.Grow(d.a.Events, len(x.Events))[:len(x.Events)]
	d.a.Events = restored
	var c *choice // of the last event
	for i := range restored {
		e := &x.Events[i]
		if c == nil || c.index != int(e.Choice) {
			c = d.choice(int(e.Choice))
		}
		to := &restored[i]
		to.Response, to.Choice, to.Reasoning, to.Prev, to.Tokens = int(e.Response), c.index, e.Reasoning, c.last, e.Tokens
		to.RecvNS = r.Responses[e.Response].RecvNS
		c.last = i
	}
}
