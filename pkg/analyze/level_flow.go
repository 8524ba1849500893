package analyze

import (
	"cmp"
	"slices"
	"sort"

	"github.com/pa-tools/pa/pkg/analyze/figure"
)

// A flow counts the requests that completed and the tokens that were delivered between
// two times.
type flow struct {
	requests      int     // successful ones that ended
	output, input float64 // tokens
	tally         tokenTally
}

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
	t := tallyOf(p)
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

// tallyOf returns the tally of one request that counts for a flow.
func tallyOf(p *Point) tokenTally {
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

// throughput returns the rates of f over seconds; users is as concurrency
// returns it.
func (f *flow) throughput(seconds, users float64) figure.Throughput {
	var t figure.Throughput
	if seconds <= 0 {
		return t
	}
	t.Requests = figure.PerSecond(float64(f.requests) / seconds)
	if k := &f.tally; k.dropped > 0 || k.knownOutput == 0 && k.unknownOutput > 0 {
		return t
	}
	t.OutputTokens = figure.PerSecond(f.output / seconds)
	if f.tally.unknownInput == 0 {
		t.TotalTokens = figure.PerSecond((f.output + f.input) / seconds)
	}
	if users > 0 {
		t.OutputTokensPerUser = figure.PerSecond(t.OutputTokens.PerSecond / users)
	}
	return t
}

// completions collects the completed requests of a level, for its steps.
type completions struct {
	firstNS uint64 // least start that is known
	done    []completed
}

// A completed is a request that completed.
type completed struct {
	endNS  uint64
	tokens int64
}

// add adds a request.
func (c *completions) add(p *Point) {
	if !p.Counted {
		return
	}
	if p.StartNS != 0 && (c.firstNS == 0 || p.StartNS < c.firstNS) {
		c.firstNS = p.StartNS
	}
	c.done = append(c.done, completed{p.EndNS, p.OutputTokens.V})
}

// steps calls add with the steps of the level. The time in lost does not count.
func (c *completions) steps(lost *lostTime, add func(Step)) {
	slices.SortStableFunc(c.done, func(a, b completed) int { return cmp.Compare(a.endNS, b.endNS) })
	before := c.firstNS
	for _, d := range c.done {
		// An end before the first start, of a clock set back, takes no time.
		end := max(d.endNS, before)
		add(Step{lost.counting(before, end).Seconds(), 1, float64(d.tokens)})
		before = end
	}
}

// stepsWithin calls add with the steps of a part of a level.
func stepsWithin(points eachPoint, s *Selected, add func(Step)) {
	var ends []uint64
	points(func(p *Point) bool {
		if p.complete && p.EndNS >= s.FromNS && p.EndNS < s.ToNS {
			ends = append(ends, p.EndNS)
		}
		return true
	})
	slices.Sort(ends)
	if len(ends) == 0 {
		ends = []uint64{0}
	}
	bounds := ends
	bounds[0] = s.FromNS // where the first step begins
	bounds = append(bounds, s.ToNS)
	f := flows(points, bounds, s.Level.ToNS)
	for i := range f {
		add(Step{s.lost.counting(bounds[i], bounds[i+1]).Seconds(), f[i].requests, f[i].output})
	}
}
