package answer

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// A From is the time at which the latency of a request begins.
type From uint8

// FromStart, the default, is the time when the first byte of the request left.
// FromSent is the time of the last byte, FromIssued of the hand-over to the client
// (before any connect), and FromScheduled the time that an open-loop schedule had for
// the request: latencies from it include waiting in the client.
const (
	FromStart     From = 0
	FromSent      From = 1
	FromIssued    From = 2
	FromScheduled From = 3
)

var fromNames = [...]string{"start", "sent", "issued", "scheduled"}

// String returns "start", "sent", "issued" or "scheduled".
func (f From) String() string {
	if int(f) < len(fromNames) {
		return fromNames[f]
	}
	return fmt.Sprintf("invalid(%d)", f)
}

// ParseFrom is the inverse of String.
func ParseFrom(s string) (From, error) {
	for i, n := range fromNames {
		if n == s {
			return From(i), nil
		}
	}
	return 0, fmt.Errorf("%q is none of start, sent, issued, scheduled", s)
}

// Of returns the time of r that f names; 0 means that it was not recorded.
func (f From) Of(r *export.Request) uint64 {
	switch f {
	case FromSent:
		return r.SentNS
	case FromIssued:
		return r.IssuedNS
	case FromScheduled:
		return r.ScheduledNS
	}
	return r.StartNS
}

// A Value is a whole number that may be missing.
type Value struct {
	V  int64
	OK bool
}

// Some returns the Value v.
func Some(v int64) Value { return Value{v, true} }

// Elapsed returns to − from in nanoseconds. It is missing if it does not fit an int64
// (292 years), which happens only in a damaged file or with a placeholder such as
// perf_analyzer's window end 18446744073709551615.
func Elapsed(from, to uint64) Value {
	d := to - from
	if to >= from && d > 1<<63-1 || to < from && -d > 1<<63 {
		return Value{}
	}
	return Some(int64(d))
}

// Float returns the value as a float64; ok is false if it is missing.
func (v Value) Float() (f float64, ok bool) { return float64(v.V), v.OK }

// Measures are the times and token counts of one request, in nanoseconds and tokens.
type Measures struct {
	TTFT  Value
	TTFAT Value
	TTST  Value
	E2EL  Value
	// Gaps are the times between consecutive token events of one choice, in the order
	// in which they ended. The next Measure reuses the slice.
	Gaps []int64
	// GapTokens holds for each of the Gaps the tokens that came at its end, where the server counts
	// the tokens of each event; else nil. The next Measure reuses the slice.
	GapTokens []int32

	OutputTokens    Value
	InputTokens     Value
	ReasoningTokens Value // missing unless stated, be it 0
	CachedTokens    Value // as well
	// TokenSource says where OutputTokens comes from.
	TokenSource TokenSource

	Events int   // token events, of all choices
	Spread Value // last token event − first
	// SharedStamps counts gaps of 0, Backward gaps below 0.
	SharedStamps int
	Backward     int
	// Impossible counts spans of more than 292 years, which are left out.
	Impossible int
}

// TPOT returns the mean time per output token after the first:
// (last token event − first) / (output tokens − 1), in nanoseconds.
//
// ok is false for fewer than two output tokens and for fewer than two token
// events: one chunk that holds the whole answer has no pace.
func (m *Measures) TPOT() (ns float64, ok bool) {
	if m.Events < 2 || !m.Spread.OK || !m.OutputTokens.OK || m.OutputTokens.V < 2 {
		return 0, false
	}
	return float64(m.Spread.V) / float64(m.OutputTokens.V-1), true
}

// UncachedInput returns the input tokens that the prefix cache of the server did not hold. It is missing
// unless both numbers are stated, and if there are more cached tokens than input tokens, or no input
// tokens.
func (m *Measures) UncachedInput() Value {
	in, cached := m.InputTokens, m.CachedTokens
	if !in.OK || !cached.OK || in.V <= 0 || cached.V < 0 || cached.V > in.V {
		return Value{}
	}
	return Some(in.V - cached.V)
}

// measure fills m from a request and its answer. from is the time at which latencies
// begin; 0 means that it was not recorded.
func (m *Measures) measure(r *export.Request, a *Answer, from uint64) {
	*m = Measures{Gaps: m.Gaps[:0], GapTokens: m.GapTokens[:0], Events: a.numEvents()}
	if from != 0 {
		if end, ok := r.LastNS(); ok {
			m.E2EL = m.elapsed(from, end)
		}
	}
	if a.brief != nil {
		m.measureBrief(r, a, from)
		return
	}
	if len(a.Events) == 0 {
		return
	}
	first, last := a.Events[0], a.Events[len(a.Events)-1]
	m.Spread = m.elapsed(first.RecvNS, last.RecvNS)
	if from != 0 {
		m.TTFT = m.elapsed(from, first.RecvNS)
		if e, ok := firstAnswer(a.Events); ok {
			m.TTFAT = m.elapsed(from, e.RecvNS)
		}
	}
	for _, e := range a.Events {
		if e.Prev < 0 {
			continue
		}
		gap := m.elapsed(a.Events[e.Prev].RecvNS, e.RecvNS)
		if !gap.OK {
			continue
		}
		if e.Prev == 0 { // the second event of the first choice
			m.TTST = gap
		}
		m.Gaps = append(m.Gaps, gap.V)
		if a.EventTokens {
			m.GapTokens = append(m.GapTokens, e.Tokens)
		}
		switch {
		case gap.V == 0:
			m.SharedStamps++
		case gap.V < 0:
			m.Backward++
		}
	}
}

// measureBrief completes m by the times of an answer whose responses were left out.
func (m *Measures) measureBrief(r *export.Request, a *Answer, from uint64) {
	first, ok := a.FirstTokenNS(r)
	if !ok {
		return
	}
	x := a.brief
	last := first
	if len(x.ITL) > 0 {
		m.Gaps = append(m.Gaps, x.ITL[0]...)
		m.TTST = Some(m.Gaps[0])
	}
	for _, gap := range m.Gaps {
		last += uint64(gap)
		switch {
		case gap == 0:
			m.SharedStamps++
		case gap < 0:
			m.Backward++
		}
	}
	m.Spread = m.elapsed(first, last)
	if from == 0 {
		return
	}
	m.TTFT = m.elapsed(from, first)
	if x.TTFAT.OK {
		m.TTFAT = m.elapsed(from, r.StartNS+uint64(x.TTFAT.V))
	}
}

// firstAnswer returns the first event of the answer after an event of reasoning; ok is
// false if the request did not reason, or did not answer.
func firstAnswer(events []Event) (_ Event, ok bool) {
	reasoned := false
	for _, e := range events {
		if reasoned && !e.Reasoning {
			return e, true
		}
		reasoned = reasoned || e.Reasoning
	}
	return Event{}, false
}

func (m *Measures) elapsed(from, to uint64) Value {
	v := Elapsed(from, to)
	if !v.OK {
		m.Impossible++
	}
	return v
}
