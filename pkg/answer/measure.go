package answer

import (
	"fmt"
	"math"
	"slices"

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
	return 0, fmt.Errorf("%q: expected start, sent, issued or scheduled", s)
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

// Elapsed returns to − from in nanoseconds. It is missing if it does not fit an int64
// (292 years), which happens only in a damaged file or with a placeholder such as
// perf_analyzer's window end 18446744073709551615.
func Elapsed(from, to uint64) export.Int {
	d := to - from
	if to >= from && d > 1<<63-1 || to < from && -d > 1<<63 {
		return export.Int{}
	}
	return export.IntOf(int64(d))
}

// Measures are the times and token counts of one request, in nanoseconds and tokens.
type Measures struct {
	TTFT  export.Int
	TTFAT export.Int
	TTST  export.Int
	E2EL  export.Int
	// Gaps are the times between consecutive token events of one choice, in the order
	// in which they ended. The next Measure reuses the slice.
	Gaps []int64
	// GapTokens holds for each of the Gaps the tokens that came at its end, where the server counts
	// the tokens of each event; else nil. The next Measure reuses the slice.
	GapTokens []int32

	OutputTokens    export.Int
	InputTokens     export.Int
	ReasoningTokens export.Int // missing unless stated, be it 0
	CachedTokens    export.Int // as well
	// Server is what the server states about the request, without numbers that cannot be true.
	Server export.ServerDetails
	// Wait, Connect and Send are the parts of the TTFT before the request had left: see Waterfall.
	Wait, Connect, Send export.Int
	// Images is the number of finished images of the answer, SizedImages the number of the images with a known size, and
	// ImageBytes the sum of their sizes. PartialImages and FirstImage, the time to the first image, are of answers that
	// were streamed. All are missing at endpoints that make no images.
	Images, SizedImages, ImageBytes, PartialImages, FirstImage export.Int
	// Audio are the measures of the audio endpoints.
	Audio Audio
	// TokenSource says where OutputTokens comes from.
	TokenSource TokenSource
	// TimedTokens is the number of output tokens that came in Spread, after the first token event. It is
	// missing if it is OutputTokens − 1. It is also missing if it is not known; Untimed is set then.
	TimedTokens export.Int
	Untimed     bool
	// HiddenTokens is the number of output tokens that the server counts before the first token event
	// and did not send; missing if no token is known to be hidden.
	HiddenTokens export.Int

	Events int        // token events, of all choices
	Spread export.Int // last token event − first
	// SharedStamps counts gaps of 0, Backward gaps below 0.
	SharedStamps int
	Backward     int
	// Impossible counts spans of more than 292 years, which are left out.
	Impossible int
	// Wrong holds the other numbers that cannot be true, and are left out; nil for nearly all requests.
	Wrong []Wrong
	// StartWrong and EndWrong say that the request starts or ends at a time that cannot be true.
	StartWrong, EndWrong bool
}

// usualValues is the number of values that answers of every kind can have; the values behind them belong to images, audio and the like.
const usualValues = 14

// values returns the values of m, without its gaps and Server, always in the same order: the usual ones first.
func (m *Measures) values() [19]*export.Int {
	return [...]*export.Int{
		&m.TTFT, &m.TTFAT, &m.TTST, &m.E2EL, &m.OutputTokens, &m.InputTokens, &m.ReasoningTokens, &m.CachedTokens, &m.Spread,
		&m.TimedTokens, &m.HiddenTokens, &m.Wait, &m.Connect, &m.Send,
		&m.Images, &m.SizedImages, &m.ImageBytes, &m.PartialImages, &m.FirstImage,
	}
}

// TPOT returns the mean time per output token after the first:
// (last token event − first) / (output tokens after the first event), in nanoseconds. The divisor is
// output tokens − 1, unless the server shows that more tokens came before or with the first event.
//
// ok is false for fewer than two output tokens and for fewer than two token
// events: one chunk that holds the whole answer has no pace. It is also false if the number of
// tokens after the first event is not known.
func (m *Measures) TPOT() (ns float64, ok bool) {
	n := m.Timed()
	if m.Events < 2 || !m.Spread.OK || !n.OK {
		return 0, false
	}
	return float64(m.Spread.V) / float64(n.V), true
}

// Timed returns the number of output tokens after the first token event; it is missing if that is not
// known, or 0.
func (m *Measures) Timed() export.Int {
	n := m.TimedTokens
	if !n.OK {
		n = export.Int{V: m.OutputTokens.V - 1, OK: m.OutputTokens.OK}
	}
	if m.Untimed || m.OutputTokens.V < 2 || n.V < 1 {
		return export.Int{}
	}
	return n
}

// VisibleTokens returns the number of output tokens that token events carried; missing if that is not
// known.
func (m *Measures) VisibleTokens() export.Int {
	if m.Untimed || !m.OutputTokens.OK {
		return export.Int{}
	}
	return export.IntOf(m.OutputTokens.V - m.hidden())
}

// hidden returns the number of OutputTokens that are known to be hidden.
func (m *Measures) hidden() int64 {
	if m.TokenSource != TokenUsage || !m.HiddenTokens.OK {
		return 0
	}
	return min(m.HiddenTokens.V, m.OutputTokens.V)
}

// UncachedInput returns the input tokens that the prefix cache of the server did not hold. It is missing
// unless both numbers are stated, and if there are more cached tokens than input tokens, or no input
// tokens.
func (m *Measures) UncachedInput() export.Int {
	in, cached := m.InputTokens, m.CachedTokens
	if !in.OK || !cached.OK || in.V <= 0 || cached.V < 0 || cached.V > in.V {
		return export.Int{}
	}
	return export.IntOf(in.V - cached.V)
}

// EachShared calls do for each event with tokens: with the index of its gap, the time in ns that its tokens share,
// and their number. tokens holds the number of tokens of each gap. A gap without tokens is part of the next time.
func EachShared(gaps []int64, tokens []int32, do func(gap int, ns int64, n int32)) {
	waited := int64(0)
	for i, g := range gaps {
		waited += g
		if n := tokens[i]; n > 0 {
			do(i, waited, n)
			waited = 0
		}
	}
}

// measure fills m from a request and its answer, with the values within the bounds. from is the time at
// which latencies begin; 0 means that it was not recorded.
func (m *Measures) measure(r *export.Request, a *Answer, from uint64, b *Bounds) {
	*m = Measures{Gaps: m.Gaps[:0], GapTokens: m.GapTokens[:0], Events: a.numEvents()}
	from = m.placeable(r, from, b)
	if last, ok := r.LatestResponseNS(); ok && !m.EndWrong && from != 0 {
		m.E2EL = m.keep(E2EL, m.elapsed(from, last), b.spanNS)
	}
	first, ok := a.FirstTokenNS(r)
	if !ok {
		return
	}
	if a.brief != nil {
		if m.Spread = export.IntOf(0); len(a.brief.ITL) > 0 {
			m.addChain(a.brief.ITL[0], r, a.brief.TTFT.V, b)
		}
	} else {
		m.addEvents(a, b)
	}
	if from == 0 {
		return
	}
	most := m.mostLatency(b)
	m.TTFT = m.keep(TTFT, m.elapsed(from, first), most)
	m.clientParts(r, from)
	if t, ok := a.firstAnswerNS(r); ok {
		m.TTFAT = m.keep(TTFAT, m.elapsed(from, t), most)
	}
}

// addEvents adds the gaps between the token events, and the time from the first to the last as Spread.
func (m *Measures) addEvents(a *Answer, b *Bounds) {
	first, last := a.Events[0], a.Events[len(a.Events)-1]
	m.Spread = m.keep(TPOT, m.elapsed(first.RecvNS, last.RecvNS), b.spanNS)
	for _, e := range a.Events {
		if e.Prev < 0 {
			continue
		}
		gap := m.elapsed(a.Events[e.Prev].RecvNS, e.RecvNS)
		if !gap.OK {
			continue
		}
		if uint64(gap.V) > b.spanNS {
			m.addWrongGap(gap.V)
			continue
		}
		if e.Prev == 0 { // the second event of the first choice
			m.TTST = gap
		}
		m.Gaps = append(m.Gaps, gap.V)
		if a.EventTokens {
			m.GapTokens = append(m.GapTokens, e.Tokens)
		}
		if gap.V == 0 {
			m.SharedStamps++
		}
	}
}

// mostLatency returns the greatest latency of a part of the request: its end-to-end latency.
func (m *Measures) mostLatency(b *Bounds) uint64 {
	if m.E2EL.OK {
		return min(uint64(m.E2EL.V), b.spanNS)
	}
	return b.spanNS
}

// addWrongGap notes a gap that cannot be true.
func (m *Measures) addWrongGap(ns int64) {
	m.addWrong(Quantity(ITL), ns)
	if ns < 0 {
		m.Backward++
	}
}

// addChain adds the gaps between the token events of a request with one choice, and their sum as Spread.
// ttft is the time from the start of r to the first of the events. No event can come after the last response:
// if one does, all of the gaps are left out, because nothing shows which of them are wrong.
func (m *Measures) addChain(gaps []int64, r *export.Request, ttft int64, b *Bounds) {
	most := int64(math.MaxInt64)
	if ttft >= 0 && r.Summary != nil && r.Summary.Last >= ttft {
		most = r.Summary.Last - ttft
	}
	if sum, zeros, ok := sumShortGaps(gaps, b); ok && sum <= most {
		m.Gaps, m.SharedStamps = append(m.Gaps, gaps...), zeros
		m.TTST, m.Spread = export.IntOf(gaps[0]), m.keep(TPOT, export.IntOf(sum), b.spanNS)
		return
	}
	sum := int64(0)
	wrong := false
	for _, gap := range gaps {
		switch {
		case gap > 0 && sum > most-gap, gap < 0 && sum < math.MinInt64-gap:
			m.Gaps, m.TTST, m.Spread = m.Gaps[:0], export.Int{}, export.Int{}
			m.SharedStamps, m.Backward = 0, 0
			m.addWrong(Quantity(ITL), gap)
			return
		case gap == 0:
			m.SharedStamps++
		case uint64(gap) > b.spanNS:
			wrong = true
		}
		sum += gap
	}
	m.Gaps = append(m.Gaps, gaps...)
	if wrong {
		m.Gaps = slices.DeleteFunc(m.Gaps, func(gap int64) bool {
			if uint64(gap) > b.spanNS {
				m.addWrongGap(gap)
				return true
			}
			return false
		})
	}
	if uint64(gaps[0]) <= b.spanNS {
		m.TTST = export.IntOf(gaps[0])
	}
	m.Spread = m.keep(TPOT, export.IntOf(sum), b.spanNS)
}

// sumShortGaps returns the sum of gaps, and how many of them are 0. ok is false if one of them is below 0 or longer
// than shortGaps or the bound, or if their sum may overflow. It is for the gaps of nearly all requests.
func sumShortGaps(gaps []int64, b *Bounds) (sum int64, zeros int, ok bool) {
	bits := int64(0) // of all gaps
	for _, gap := range gaps {
		sum += gap
		bits |= gap
		if gap == 0 {
			zeros++
		}
	}
	return sum, zeros, uint64(bits) <= min(shortGaps, b.spanNS) && len(gaps) <= math.MaxInt64/shortGaps
}

// shortGaps is the longest of the gaps that sumShortGaps adds: 18 minutes.
const shortGaps = 1<<40 - 1

func (m *Measures) elapsed(from, to uint64) export.Int {
	v := Elapsed(from, to)
	if !v.OK {
		m.Impossible++
	}
	return v
}
