package analyze

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
)

// A RequestQuality says how smoothly the tokens of one request came. A float that is not known is
// NaN.
type RequestQuality struct {
	// Timed says that the times of all tokens are known and that the answer has one choice. The
	// next four fields have a value only then.
	Timed      bool
	Fluidity   quality.Fluidity
	IntervalNS answer.Value // fluid interval; missing if no interval reaches the target
	Timeliness quality.Timeliness
	Stall      quality.Stall

	TokensPerEvent float64
	// ITLPerTokenNS is the mean of the estimated times per token.
	ITLPerTokenNS       float64
	NormalizedLatencyNS float64

	// spread is the factor from a gap to its estimated time per token where the tokens of an answer
	// are spread evenly over its events; 0 if there is none.
	spread float64
	// counted says that the server counts the tokens of each event; spread is 0 then.
	counted bool

	paceNS int64 // of the reader
	// severalChoices says that the request would be Timed if it had one choice.
	severalChoices bool
}

// SmoothTokens returns the part of the request in the smooth goodput of its level, in tokens: the
// tokens less the tokens that the reader could have read while idle. The request must be Timed.
func (q *RequestQuality) SmoothTokens() float64 { return q.Timeliness.Benefit(q.paceNS) }

// TokenRate returns the fluid token rate of the request in tokens per second, 1/IntervalNS; NaN if the
// request reaches the target at no rate, or at every rate, because its tokens come early.
func (q *RequestQuality) TokenRate() float64 {
	if !q.IntervalNS.OK || q.IntervalNS.V <= 1 {
		return math.NaN()
	}
	return 1e9 / float64(q.IntervalNS.V)
}

// Value returns the value of a metric of [answer.QualityMetrics]; NaN if the request has none, and for
// other metrics.
func (q *RequestQuality) Value(m answer.Metric) float64 {
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
		v, ok = q.Fluidity.Index()
	case answer.FluidInterval:
		v, ok = q.IntervalNS.Float()
	case answer.TokensInTime:
		v = q.Timeliness.Share()
	case answer.ReaderIdle:
		v = float64(q.Timeliness.IdleNS)
	case answer.Stalls:
		v = float64(q.Stall.N)
	case answer.LongestStall:
		v, ok = float64(q.Stall.LongestNS), q.Stall.N > 0
	case answer.StallShare:
		v, ok = q.Stall.Share()
	default:
		ok = false
	}
	if !ok {
		return math.NaN()
	}
	return v
}

// A QualityMeter measures the quality of requests one by one. It is for one goroutine.
type QualityMeter struct {
	cfg    QualityConfig
	stalls quality.Stalls
	answer quality.Answer // times of the last measured request, if that request is Timed
}

// NewQualityMeter returns a QualityMeter with the parameters of cfg.
func NewQualityMeter(cfg QualityConfig) *QualityMeter {
	return &QualityMeter{cfg: cfg, stalls: quality.Stalls{ThresholdNS: cfg.StallNS, Factor: cfg.StallFactor}}
}

// Measure returns the quality of a request, whether the request counts or not.
func (x *QualityMeter) Measure(m *answer.Measured) RequestQuality {
	q := x.measure(m)
	q.setITLPerToken(&m.Measures)
	return q
}

// measure is Measure without ITLPerTokenNS, which figures of a level do not need.
func (x *QualityMeter) measure(m *answer.Measured) RequestQuality {
	q := RequestQuality{TokensPerEvent: math.NaN(), ITLPerTokenNS: math.NaN(), NormalizedLatencyNS: math.NaN()}
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
	if !m.TTFT.OK || m.Impossible > 0 || !x.answer.Set(m.TTFT.V, m.Gaps) {
		return q
	}
	if m.Events != len(m.Gaps)+1 {
		q.severalChoices = true
		return q
	}
	x.times(&q)
	switch {
	case len(m.Gaps) == 0:
	case len(m.GapTokens) == len(m.Gaps):
		q.counted = true
	case counted && m.Timed().OK:
		q.spread = float64(m.Events-1) / float64(m.Timed().V)
	}
	return q
}

// setITLPerToken sets ITLPerTokenNS of the request m.
func (q *RequestQuality) setITLPerToken(m *answer.Measures) {
	switch {
	case q.counted:
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
func (q *RequestQuality) EachPerToken(m *answer.Measures, do func(gap int, ns float64, n int)) {
	switch {
	case q.counted:
		answer.EachShared(m.Gaps, m.GapTokens, func(i int, ns int64, n int32) { do(i, float64(ns)/float64(n), int(n)) })
	case q.spread > 0:
		for i, g := range m.Gaps {
			do(i, float64(g)*q.spread, 1)
		}
	}
}

// PerToken returns how the gaps of the request m, whose quality is q, turn into estimated times per token: the factor
// of each gap, 0 for no times, or the numbers of tokens that share each gap, where the server counts them.
func (q *RequestQuality) PerToken(m *answer.Measures) (factor float64, tokens []int32) {
	switch {
	case !q.counted:
		return q.spread, nil
	case slices.ContainsFunc(m.GapTokens, func(n int32) bool { return n != 1 }):
		return 0, m.GapTokens
	}
	return 1, nil
}

// times sets the values that follow from the token times alone.
func (x *QualityMeter) times(q *RequestQuality) {
	cfg, a := &x.cfg, &x.answer
	q.Timed, q.paceNS = true, cfg.PaceNS
	q.Fluidity = a.Fluidity(quality.Deadline{First: cfg.FirstTokenNS, Next: cfg.TokenNS})
	if ns, ok := a.FluidInterval(cfg.FirstTokenNS, cfg.Target); ok {
		q.IntervalNS = answer.Some(ns)
	}
	q.Timeliness = a.Timeliness(cfg.PaceNS)
	q.Stall = x.stalls.OfAnswer(a)
}
