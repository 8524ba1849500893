package quality

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Request says how smoothly the tokens of one request came. A float that is not known is
// NaN.
type Request struct {
	// Timed says that the times of all tokens are known and that the answer has one choice. The
	// next four fields have a value only then.
	Timed      bool
	Fluidity   Fluidity
	IntervalNS export.Int // fluid interval; missing if no interval reaches the target
	Timeliness Timeliness
	Stall      Stall

	TokensPerEvent float64
	// ITLPerTokenNS is the mean of the estimated times per token.
	ITLPerTokenNS       float64
	NormalizedLatencyNS float64

	// spread is the factor from a gap to its estimated time per token where the tokens of an answer
	// are spread evenly over its events; 0 if there is none.
	spread float64
	// Counted says that the server counts the tokens of each event; spread is 0 then.
	Counted bool

	paceNS int64 // of the reader
	// SeveralChoices says that the request would be Timed if it had one choice.
	SeveralChoices bool
}

// SmoothTokens returns the part of the request in the smooth goodput of its level, in tokens: the
// tokens less the tokens that the reader could have read while idle. The request must be Timed.
func (q *Request) SmoothTokens() float64 { return q.Timeliness.benefit(q.paceNS) }

// TokenRate returns the fluid token rate of the request in tokens per second, 1/IntervalNS; NaN if the
// request reaches the target at no rate, or at every rate, because its tokens come early.
func (q *Request) TokenRate() float64 {
	if !q.IntervalNS.OK || q.IntervalNS.V <= 1 {
		return math.NaN()
	}
	return 1e9 / float64(q.IntervalNS.V)
}

// Value returns the value of a metric of [answer.QualityMetrics]; NaN if the request has none, and for
// other metrics.
func (q *Request) Value(m answer.Metric) float64 {
	switch m {
	case answer.TokensPerEvent:
		return q.TokensPerEvent
	case answer.ITLPerToken:
		return q.ITLPerTokenNS
	case answer.NormalizedLatency:
		return q.NormalizedLatencyNS
	}
	if !q.Timed {
		return math.NaN()
	}
	v, ok := 0.0, true
	switch m {
	case answer.Fluidity:
		v, ok = q.Fluidity.index()
	case answer.FluidInterval:
		v, ok = q.IntervalNS.Float()
	case answer.TokensInTime:
		v = q.Timeliness.share()
	case answer.ReaderIdle:
		v = float64(q.Timeliness.IdleNS)
	case answer.Stalls:
		v = float64(q.Stall.N)
	case answer.LongestStall:
		v, ok = float64(q.Stall.LongestNS), q.Stall.N > 0
	case answer.StallShare:
		v, ok = q.Stall.share()
	default:
		ok = false
	}
	if !ok {
		return math.NaN()
	}
	return v
}

// A Meter measures the quality of requests one by one. It is for one goroutine.
type Meter struct {
	Config Config
	stalls Stalls
	Answer Answer // times of the last measured request, if that request is Timed
}

// NewMeter returns a Meter with the parameters of cfg.
func NewMeter(cfg Config) *Meter {
	return &Meter{Config: cfg, stalls: Stalls{ThresholdNS: cfg.StallNS, Factor: cfg.StallFactor}}
}

// Measure returns the quality of a request, whether the request counts or not.
func (x *Meter) Measure(m *answer.Measured) Request {
	q := x.MeasureForLevel(m)
	q.setITLPerToken(&m.Measures)
	return q
}

// MeasureForLevel is Measure without ITLPerTokenNS, which figures of a level do not need.
func (x *Meter) MeasureForLevel(m *answer.Measured) Request {
	q := Request{TokensPerEvent: math.NaN(), ITLPerTokenNS: math.NaN(), NormalizedLatencyNS: math.NaN()}
	tokens := m.OutputTokens
	counted := tokens.OK && tokens.V > 0
	if counted && m.E2EL.OK {
		q.NormalizedLatencyNS = float64(m.E2EL.V) / float64(tokens.V)
	}
	if m.Streamed != answer.StreamedYes || m.Events == 0 {
		return q
	}
	counted = counted && m.TokenSource != answer.TokenResponses
	if visible := m.VisibleTokens(); counted && visible.OK {
		q.TokensPerEvent = float64(visible.V) / float64(m.Events)
	}
	if !m.TTFT.OK || m.Impossible > 0 || !x.Answer.Set(m.TTFT.V, m.Gaps) {
		return q
	}
	if m.Events != len(m.Gaps)+1 {
		q.SeveralChoices = true
		return q
	}
	x.times(&q)
	switch {
	case len(m.Gaps) == 0:
	case len(m.GapTokens) == len(m.Gaps):
		q.Counted = true
	case counted && m.Timed().OK:
		q.spread = float64(m.Events-1) / float64(m.Timed().V)
	}
	return q
}

// setITLPerToken sets ITLPerTokenNS of the request m.
func (q *Request) setITLPerToken(m *answer.Measures) {
	switch {
	case q.Counted:
		sum, n := 0.0, 0
		q.EachPerToken(m, func(_ int, ns float64, k int) { sum, n = sum+ns*float64(k), n+k })
		if n > 0 {
			q.ITLPerTokenNS = sum / float64(n)
		}
	case q.spread > 0:
		q.ITLPerTokenNS = float64(m.Spread.V) / float64(m.Timed().V)
	}
}

// EachPerToken calls do with each estimated time per token of the request m, whose quality is q: with the
// index of the gap that ends the time, the time per token in ns, and the number of tokens that have it.
// Where the server counts the tokens of each event, the tokens of an event share the time since the last
// event with tokens. Elsewhere each gap has one time.
func (q *Request) EachPerToken(m *answer.Measures, do func(gap int, ns float64, n int)) {
	switch {
	case q.Counted:
		answer.EachShared(m.Gaps, m.GapTokens, func(i int, ns int64, n int32) { do(i, float64(ns)/float64(n), int(n)) })
	case q.spread > 0:
		for i, g := range m.Gaps {
			do(i, float64(g)*q.spread, 1)
		}
	}
}

// PerToken returns how the gaps of the request m, whose quality is q, turn into estimated times per token: the factor
// of each gap, 0 for no times, or the numbers of tokens that share each gap, where the server counts them.
func (q *Request) PerToken(m *answer.Measures) (factor float64, tokens []int32) {
	switch {
	case !q.Counted:
		return q.spread, nil
	case slices.ContainsFunc(m.GapTokens, func(n int32) bool { return n != 1 }):
		return 0, m.GapTokens
	}
	return 1, nil
}

// times sets the values that follow from the token times alone.
func (x *Meter) times(q *Request) {
	cfg, a := &x.Config, &x.Answer
	q.Timed, q.paceNS = true, cfg.PaceNS
	q.Fluidity = a.fluidity(deadline{First: cfg.FirstTokenNS, Next: cfg.TokenNS})
	if ns, ok := a.fluidInterval(cfg.FirstTokenNS, cfg.Target); ok {
		q.IntervalNS = export.IntOf(ns)
	}
	q.Timeliness = a.timeliness(cfg.PaceNS)
	q.Stall = x.stalls.ofAnswer(a)
}

// A Config holds the parameters of the measures. Times are nanoseconds, at least 1.
type Config struct {
	FirstTokenNS, TokenNS int64   // deadlines of the fluidity index
	Target                float64 // fluidity index that a request should have, above 0, at most 1
	Share                 float64 // share of the requests that should have this index, above 0, at most 1
	PaceNS                int64   // time that a reader takes for each token
	StallNS               int64
	StallFactor           float64
}

// Default returns the usual parameters: the first token is due after 1 s, each later token
// after 50 ms; nine tenths of the deadlines shall be met by 99 % of the requests; a reader takes 50 ms a
// token; a stall is longer than 200 ms and five times the median gap.
func Default() Config {
	return Config{FirstTokenNS: 1e9, TokenNS: 50e6, Target: 0.9, Share: 0.99, PaceNS: 50e6, StallNS: 200e6, StallFactor: 5}
}
