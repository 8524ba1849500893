package answer

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// Definitions is the version of what a [Deriver] computes. It changes with each change of
// the results of a [Decoder] or a [Meter], so that measures in older files are not taken
// for the present ones.
const Definitions = 1

// A Deriver computes the measures that columnar files hold, under the default Config.
//
// A Deriver is for one goroutine.
type Deriver struct {
	meter *Meter
	out   export.Derived
	model string
	first bool // a request was seen
	// Buffers of byChoice: the number of each event's choice, and the gaps.
	of   []int
	ends []int // where the gaps of each choice end in gaps
	gaps []int64
}

var _ export.Deriver = (*Deriver)(nil)

// NewDeriver returns a Deriver for the requests of run.
func NewDeriver(run *export.Run) *Deriver { return &Deriver{meter: NewMeter(run, Config{})} }

// Derivation describes the measures.
func (d *Deriver) Derivation() export.Derivation {
	return export.Derivation{Definitions: Definitions, TokenSource: "auto", Model: d.model}
}

// Derive decodes and measures r. The result is valid until the next call.
func (d *Deriver) Derive(r *export.Request) *export.Derived {
	if !d.first {
		d.first, d.model = true, ModelOf(r)
	}
	q := d.meter.Measure(r)
	a := q.Answer
	x := &d.out
	*x = export.Derived{
		Events: x.Events[:0], ITL: x.ITL[:0],
		Failure: a.Failure, Assumed: a.Assumed, Unreadable: a.Unreadable,
		Excluded: q.Excluded, Class: q.Class,
		TTFT: export.Count(q.TTFT), E2EL: export.Count(q.E2EL),
		InputTokens: export.Count(q.InputTokens), OutputTokens: export.Count(q.OutputTokens),
		ReasoningTokens: export.Count(q.ReasoningTokens), CachedTokens: export.Count(q.CachedTokens),
	}
	if q.TokenSource != TokenAuto {
		x.TokenSource = q.TokenSource.String()
	}
	if q.Streamed != StreamedUnknown {
		yes := q.Streamed == StreamedYes
		x.Streamed = &yes
	}
	x.TPOT, x.HasTPOT = q.TPOT()
	for i := range a.Events {
		e := &a.Events[i]
		x.Events = append(x.Events, export.TokenEvent{Response: int32(e.Response), Choice: int64(e.Choice), Reasoning: e.Reasoning})
	}
	if len(q.Gaps) > 0 {
		d.byChoice(a)
	}
	return x
}

// byChoice sets the gaps of each choice. Choices are in the order of their first events.
func (d *Deriver) byChoice(a *Answer) {
	d.of, d.ends = d.of[:0], d.ends[:0]
	for i := range a.Events {
		if prev := a.Events[i].Prev; prev >= 0 {
			d.of = append(d.of, d.of[prev])
			d.ends[d.of[prev]]++
		} else {
			d.of = append(d.of, len(d.ends))
			d.ends = append(d.ends, 0)
		}
	}
	d.gaps = slices.Grow(d.gaps[:0], len(a.Events))[:len(a.Events)]
	at := 0
	for c, n := range d.ends { // where the gaps of each choice begin, until they are there
		d.ends[c] = at
		at += n
	}
	begins := slices.Clone(d.ends)
	for i := range a.Events {
		e := &a.Events[i]
		if e.Prev < 0 {
			continue
		}
		if gap := Elapsed(a.Events[e.Prev].RecvNS, e.RecvNS); gap.OK {
			d.gaps[d.ends[d.of[i]]] = gap.V
			d.ends[d.of[i]]++
		}
	}
	for c, from := range begins {
		if to := d.ends[c]; to > from {
			d.out.ITL = append(d.out.ITL, d.gaps[from:to:to])
		}
	}
}

// Matches reports whether a Meter with cfg can take the answers of a file that were
// derived as d says.
func (cfg *Config) Matches(d export.Derivation) bool {
	return d.Definitions == Definitions && d.TokenSource == "auto" && d.Tokenizer == "" &&
		cfg.Counter == nil && cfg.TokenSource != TokenTokenizer
}

// MeasureDerived measures r with the answer that d holds, which a Deriver computed for the
// same request, as Measure would. r needs no inputs and outputs. The result is valid until
// the next call.
func (m *Meter) MeasureDerived(r *export.Request, d *export.Derived) *Measured {
	m.decoder.restore(r, d)
	return m.MeasureAnswer(r, &m.decoder.a)
}

// restore makes d.a of what x holds.
func (d *Decoder) restore(r *export.Request, x *export.Derived) {
	stored := StreamedUnknown
	if x.Streamed != nil {
		stored = streamedIf(*x.Streamed)
	}
	d.a = Answer{
		Events: d.a.Events[:0], choices: d.a.choices[:0], stored: &stored,
		Failure: x.Failure, Assumed: x.Assumed, Unreadable: x.Unreadable, Dropped: r.OutputsDropped, Numbers: d.Numbers,
		Usage: Usage{Input: Value(x.InputTokens), Reasoning: Value(x.ReasoningTokens), Cached: Value(x.CachedTokens)},
	}
	if x.TokenSource == TokenUsage.String() {
		d.a.Usage.Output = Value(x.OutputTokens)
	}
	d.responses = r.Responses
	for i := range x.Events {
		e := &x.Events[i]
		d.add(int(e.Response), int(e.Choice), e.Reasoning, nil)
	}
}
