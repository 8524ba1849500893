package analyze

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// A From says from when the latency of a request counts.
type From uint8

// FromStart is the default: the first byte of the request left. The others are
// the last byte, the hand-over to the client (before any connect), and the
// time that an open-loop schedule wanted it sent: the last shows what waiting
// in the client cost.
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

// of returns the instant of r that f names; 0 means not recorded.
func (f From) of(r *export.Request) uint64 {
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

func some(v int64) Value { return Value{v, true} }

// span returns to − from; missing when it does not fit an int64.
func span(from, to uint64) Value {
	if v, ok := spanNS(from, to); ok {
		return some(v)
	}
	return Value{}
}

// Measures are the numbers of one request, in nanoseconds and tokens. They are
// what [Strict] summarizes.
type Measures struct {
	TTFT  Value
	TTFAT Value
	TTST  Value
	E2EL  Value
	// Gaps are between consecutive token events of one choice, in the order
	// in which they ended. They are reused by the next Measure.
	Gaps []int64

	OutputTokens    Value
	InputTokens     Value
	ReasoningTokens Value
	CachedTokens    Value
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

// measure fills m from a request and what it was answered. from 0 means that
// the time to count from was not recorded.
func (m *Measures) measure(r *export.Request, a *Answer, from uint64) {
	*m = Measures{Gaps: m.Gaps[:0], Events: len(a.Events)}
	if from != 0 {
		if end, ok := r.LastNS(); ok {
			m.E2EL = m.span(from, end)
		}
	}
	if len(a.Events) == 0 {
		return
	}
	first, last := a.Events[0], a.Events[len(a.Events)-1]
	m.Spread = m.span(first.RecvNS, last.RecvNS)
	if from != 0 {
		m.TTFT = m.span(from, first.RecvNS)
		if e, ok := firstAnswer(a.Events); ok {
			m.TTFAT = m.span(from, e.RecvNS)
		}
	}
	for i, e := range a.Events {
		if e.prev < 0 {
			continue
		}
		gap := m.span(a.Events[e.prev].RecvNS, e.RecvNS)
		if !gap.OK {
			continue
		}
		if e.Choice == first.Choice && e.prev == 0 && i > 0 {
			m.TTST = gap
		}
		m.Gaps = append(m.Gaps, gap.V)
		switch {
		case gap.V == 0:
			m.SharedStamps++
		case gap.V < 0:
			m.Backward++
		}
	}
}

// firstAnswer returns the first event that is no reasoning after one that is.
func firstAnswer(events []Event) (Event, bool) {
	reasoned := false
	for _, e := range events {
		if reasoned && !e.Reasoning {
			return e, true
		}
		reasoned = reasoned || e.Reasoning
	}
	return Event{}, false
}

func (m *Measures) span(from, to uint64) Value {
	v := span(from, to)
	if !v.OK {
		m.Impossible++
	}
	return v
}
