package analyze

import (
	"sort"

	"github.com/pa-tools/pa/pkg/answer"
)

// A flow counts the requests that completed and the tokens that were delivered between
// two times.
type flow struct {
	requests      int     // successful ones that ended
	output, input float64 // tokens
	tally         tokenTally
}

// A tokenTally counts the requests that were in flight or ended in a flow by whether their
// token counts are known. dropped counts requests whose token events were not recorded or
// are no tokens because the answer was not streamed. It also counts requests with a text
// that the tokenizer could not count.
type tokenTally struct{ knownOutput, unknownOutput, unknownInput, dropped int }

func (t *tokenTally) plus(u tokenTally) {
	t.knownOutput += u.knownOutput
	t.unknownOutput += u.unknownOutput
	t.unknownInput += u.unknownInput
	t.dropped += u.dropped
}

func (t *tokenTally) minus(u tokenTally) {
	t.knownOutput -= u.knownOutput
	t.unknownOutput -= u.unknownOutput
	t.unknownInput -= u.unknownInput
	t.dropped -= u.dropped
}

// tokens returns the tally of one request that counts for a flow.
func (p *Point) tokens() tokenTally {
	var t tokenTally
	switch {
	case p.TokensLost():
		t.dropped = 1
	case p.OutputTokens.OK:
		t.knownOutput = 1
	default:
		t.unknownOutput = 1
	}
	if p.complete && !p.InputTokens.OK {
		t.unknownInput = 1
	}
	return t
}

// Complete reports whether the request was answered in full, in any phase: it counts in rates of
// requests over time.
func (p *Point) Complete() bool { return p.complete }

// Delivers reports whether the tokens of the request count in rates over time: it is complete, or was
// cancelled.
func (p *Point) Delivers() bool { return p.complete || p.cancelled }

// TokensLost reports whether the request has tokens of unknown number: their events were not recorded or
// are no tokens because the answer was not streamed, the tokenizer could not count a text, or the stated number
// cannot be true.
func (p *Point) TokensLost() bool {
	return p.Dropped || p.Uncounted || p.NotCounted != nil || p.HasWrong(answer.Quantity(answer.OutputTokens))
}

// An eachPoint calls do with points in the order of their starts until it returns false. A point is valid
// until do returns.
type eachPoint func(do func(p *Point) bool)

// A flowMeter measures the flow in each of the windows between its bounds, which ascend. A
// window includes its first bound and excludes its last, except that the window that
// ends at levelEnd, the end of the level, includes it.
type flowMeter struct {
	bounds   []uint64
	levelEnd uint64
	windows  []flow
}

func newFlowMeter(bounds []uint64, levelEnd uint64) *flowMeter {
	return &flowMeter{bounds, levelEnd, make([]flow, len(bounds)-1)}
}

// flows returns the flow of the points in each window of a [flowMeter].
func flows(points eachPoint, bounds []uint64, levelEnd uint64) []flow {
	m := newFlowMeter(bounds, levelEnd)
	points(func(p *Point) bool {
		m.add(p)
		return true
	})
	return m.finish()
}

// near returns the index of the window of t, or of the one nearest to it.
func (m *flowMeter) near(t uint64) int {
	after := sort.Search(len(m.bounds), func(i int) bool { return m.bounds[i] > t })
	return min(max(after-1, 0), len(m.windows)-1)
}

// in is near for instants within a window and −1 for others.
func (m *flowMeter) in(t uint64) int {
	last := m.bounds[len(m.bounds)-1]
	if t < m.bounds[0] || t > last || t == last && t != m.levelEnd {
		return -1
	}
	return m.near(t)
}

// add counts a request.
func (m *flowMeter) add(p *Point) {
	f := m.windows
	if !p.Delivers() || p.EndNS < m.bounds[0] || p.PlaceNS > m.bounds[len(f)] {
		return
	}
	end := m.in(p.EndNS)
	if p.complete && end >= 0 {
		f[end].requests++
	}
	// Each window from the start of the request to its end counts it: finish adds up these changes.
	t := p.tokens()
	from, to := m.near(p.PlaceNS), m.near(max(p.EndNS, p.PlaceNS))
	f[from].tally.plus(t)
	if to+1 < len(f) {
		f[to+1].tally.minus(t)
	}
	first := end
	if n := len(p.TokenNS); n > 0 {
		first = m.in(p.TokenNS[0])
		each := float64(p.OutputTokens.V) / float64(n)
		for _, t := range p.TokenNS {
			if w := m.in(t); w >= 0 {
				f[w].output += each
			}
		}
	} else if end >= 0 { // tokens by usage alone
		f[end].output += float64(p.OutputTokens.V)
	}
	if first >= 0 {
		f[first].input += float64(p.InputTokens.V)
	}
}

// finish returns the flows when all requests have been added.
func (m *flowMeter) finish() []flow {
	f := m.windows
	for i := 1; i < len(f); i++ {
		f[i].tally.plus(f[i-1].tally)
	}
	return f
}

// throughput returns the rates of f over seconds; users is as concurrency
// returns it.
func (f *flow) throughput(seconds, users float64) Throughput {
	var t Throughput
	if seconds <= 0 {
		return t
	}
	t.Requests = Rate{float64(f.requests) / seconds, true}
	if k := &f.tally; k.dropped > 0 || k.knownOutput == 0 && k.unknownOutput > 0 {
		return t
	}
	t.OutputTokens = Rate{f.output / seconds, true}
	if f.tally.unknownInput == 0 {
		t.TotalTokens = Rate{(f.output + f.input) / seconds, true}
	}
	if users > 0 {
		t.OutputTokensPerUser = Rate{t.OutputTokens.PerSecond / users, true}
	}
	return t
}
