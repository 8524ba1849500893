package answer

import (
	"cmp"
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A Quantity says what a number of a request measures: a [Metric], Times or TokenEvents.
type Quantity uint8

// Times are the times at which a request was sent and answered. TokenEvents is the number of token events
// that the file of another tool states. ServerNumber is a number of export.ServerDetails. NumQuantities is the number of
// quantities.
const (
	Times Quantity = Quantity(numMetrics) + iota
	TokenEvents
	ServerNumber
	NumQuantities
)

// Label returns the name of q for people: "TTFT", "output tokens", "start or end".
func (q Quantity) Label() string {
	switch q {
	case Times:
		return "start or end"
	case TokenEvents:
		return "token events"
	case ServerNumber:
		return "server's details"
	}
	return Metric(q).Label()
}

// A Wrong is a number of a request that cannot be true. The request has no value for its Quantity.
type Wrong struct {
	Of Quantity
	N  int // 1, or the number of wrong gaps
	// Value is the number, or the first of N wrong gaps. For Times it is an instant as in the export,
	// converted from uint64.
	Value int64
}

// Bounds of what can be true. A server that states 2^40 tokens shows a damaged or made up file.
const (
	mostTokens = 1<<40 - 1
	longestNS  = uint64(export.LongestNS)
	latestNS   = math.MaxInt64 // of any clock that fits the columns of a table
)

// slackNS is how far outside of its run pa-record may place a time: the clock may be set between the time that
// the kernel takes and the time that the program takes.
const slackNS = uint64(time.Minute)

// Bounds are the greatest values of requests that can be true, and the earliest time. A number below 0 is
// above all bounds: it is compared as an unsigned number.
type Bounds struct{ earliestNS, latestNS, spanNS, tokens, events uint64 }

// boundless lets every number pass.
func boundless() Bounds {
	return Bounds{0, math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
}

// BoundsOf returns the bounds of the requests of a run. Only in pa-record's files do the start and the end of
// the run bound the times of requests: other tools may take them from another clock.
func BoundsOf(run *export.Run) Bounds {
	b := Bounds{0, latestNS, longestNS, mostTokens, math.MaxInt32}
	if m, _ := run.Meta.Possible(); m != nil && m.Import == nil && m.StartNS != 0 && m.EndNS >= m.StartNS && m.EndNS <= latestNS {
		b.earliestNS, b.latestNS = m.StartNS-min(m.StartNS, slackNS), min(latestNS, m.EndNS+slackNS)
	}
	return b
}

// Time reports whether an instant can be true. A missing time, 0, can.
func (b *Bounds) Time(ns uint64) bool { return ns == 0 || ns >= b.earliestNS && ns <= b.latestNS }

// PossibleTokens reports whether a number of tokens can be true.
func PossibleTokens(n int64) bool { return uint64(n) <= mostTokens }

// addWrong notes that a number cannot be true.
func (m *Measures) addWrong(q Quantity, v int64) {
	for i := range m.Wrong {
		if m.Wrong[i].Of == q {
			m.Wrong[i].N++
			return
		}
	}
	m.Wrong = append(m.Wrong, Wrong{q, 1, v})
}

// HasWrong reports whether a number of the request cannot be true and was left out.
func (m *Measures) HasWrong(q Quantity) bool {
	for i := range m.Wrong {
		if m.Wrong[i].Of == q {
			return true
		}
	}
	return false
}

// keep returns v, or no value if v is below 0 or above most, which it notes.
func (m *Measures) keep(x Metric, v export.Int, most uint64) export.Int {
	if !v.OK || uint64(v.V) <= most {
		return v
	}
	m.addWrong(Quantity(x), v.V)
	return export.Int{}
}

// keepServer sets Server to d, without the numbers that cannot be true, which it notes.
func (m *Measures) keepServer(d *export.ServerDetails, b *Bounds) {
	m.Server = *d
	if m.Server == (export.ServerDetails{}) {
		return
	}
	for i := range export.ServerNumbers {
		most := b.tokens
		switch n := export.ServerNumbers[i].Of(&m.Server); {
		case n == &m.Server.SentNS:
			most = max(b.latestNS, latestNS) // by the clock of the server
		case i < export.NumServerTimes:
			most = b.spanNS
		}
		if n := export.ServerNumbers[i].Of(&m.Server); n.OK && uint64(n.V) > most {
			of := ServerNumber
			if i <= int(ServerDecode-ServerQueue) { // which are metrics
				of = Quantity(ServerQueue) + Quantity(i)
			}
			m.addWrong(of, n.V)
			*n = export.Int{}
		}
	}
}

// placeable notes the times of r that cannot be true, and sets StartWrong and EndWrong. It returns from if that
// time can be true, else 0.
func (m *Measures) placeable(r *export.Request, from uint64, b *Bounds) uint64 {
	last, _ := r.LatestResponseNS()
	switch {
	case !b.Time(PlaceNS(r)):
		m.StartWrong = true
		m.addWrong(Times, int64(PlaceNS(r)))
		return 0
	case !b.Time(from):
		m.StartWrong = true
		m.addWrong(Times, int64(from))
		return 0
	case !b.Time(last):
		m.EndWrong = true
		m.addWrong(Times, int64(last))
	case !b.Time(r.FailedNS):
		m.EndWrong = true
		m.addWrong(Times, int64(r.FailedNS))
	}
	return from
}

// PlaceNS returns the time that places r in its run: its start, or for a request that never left, its issue, its
// schedule or its end; 0 if it has no time.
func PlaceNS(r *export.Request) uint64 {
	return cmp.Or(r.StartNS, r.IssuedNS, r.ScheduledNS, r.FailedNS)
}

// keepTokens removes the numbers of tokens that cannot be true.
func (m *Measured) keepTokens(b *Bounds) {
	if m.OutputTokens = m.keep(OutputTokens, m.OutputTokens, b.tokens); !m.OutputTokens.OK {
		m.TokenSource = TokenAuto
	}
	m.InputTokens = m.keep(InputTokens, m.InputTokens, b.tokens)
	m.ReasoningTokens = m.keep(ReasoningTokens, m.ReasoningTokens, b.tokens)
	most := b.tokens
	if m.InputTokens.OK {
		most = min(most, uint64(m.InputTokens.V))
	}
	if b.tokens == math.MaxUint64 {
		most = b.tokens
	}
	m.CachedTokens = m.keep(CachedTokens, m.CachedTokens, most)
}
