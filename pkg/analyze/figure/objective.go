package figure

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// An Attainment counts the requests of a level that met an objective.
//
// Failed requests did not meet it. Warm-up, late and cancelled requests are left out,
// as from all figures. A request that counts but lacks a metric of the objective (an
// answer of one token has no gap) is Unknown and left out as well.
type Attainment struct {
	SLO *expr.Objective
	Met int
	// Missed counts successful requests that did not meet the objective.
	Missed, Failed, Unknown int
	// Lacking counts the unknown requests by the metrics that they lack.
	Lacking []Count
	// Share is Met / (Met + Missed + Failed), between 0 and 1.
	Share Share
	// Conditions has an Attainment for each condition of the objective alone; nil for
	// an objective with one condition.
	Conditions []Attainment
	// Margins has the margins of the Met, Missed and Failed requests, in the order of their
	// starts: by how much a request met the objective, negative if it did not.
	Margins []float32
	// Requests and OutputTokens are the goodput: requests that met the
	// objective and their output tokens, per second of the level.
	Requests, OutputTokens Rate
}

// A Share is a fraction between 0 and 1 that may be missing.
type Share struct {
	V  float64
	OK bool
	// NA is the reason why the fraction is missing.
	NA string
}

// An Attainer counts requests by whether they met an objective.
type Attainer struct {
	counts     Attainment
	conditions []*Attainer
	lacking    Tally
	output     stat.IntSum // tokens of requests that met it
	uncounted  int         // requests that met it and have no number of tokens
	dropped    bool        // the recorder left outputs out
	gaps       []int64
	judged     []judged // of the whole objective
}

// A judged is a request that met or missed the objective.
type judged struct {
	start  uint64
	margin float32
}

// NewAttainer returns the group of [Attainment].
func NewAttainer(e *expr.Objective) *Attainer {
	a := &Attainer{counts: Attainment{SLO: e}}
	if parts := e.Conditions(); len(parts) > 1 {
		for _, p := range parts {
			a.conditions = append(a.conditions, &Attainer{counts: Attainment{SLO: p}})
		}
	}
	return a
}

// Fail counts a failed request.
func (a *Attainer) Fail(p *answer.Measured) {
	a.counts.Failed++
	a.judged = append(a.judged, judged{p.PlaceNS, float32(math.Inf(-1))})
	for _, c := range a.conditions {
		c.counts.Failed++
	}
}

// Add judges and counts a request that succeeded.
func (a *Attainer) Add(p *answer.Measured) {
	a.gaps = a.gaps[:0]
	value := func(m expr.Metric) (float64, bool) { return a.value(p, m) }
	if r := a.judge(p, value); r != expr.Unknown {
		a.judged = append(a.judged, judged{p.PlaceNS, expr.Signed(a.counts.SLO.Margin(value), r == expr.True)})
	}
	for _, c := range a.conditions {
		c.judge(p, value)
	}
}

func (a *Attainer) judge(p *answer.Measured, value func(expr.Metric) (float64, bool)) expr.Truth {
	r := a.counts.SLO.Eval(value)
	switch r {
	case expr.True:
		a.counts.Met++
		if p.OutputTokens.OK {
			a.output.Add(p.OutputTokens.V)
		} else {
			a.uncounted++
		}
	case expr.False:
		a.counts.Missed++
	default:
		a.counts.Unknown++
		for _, m := range a.counts.SLO.Metrics() {
			if _, ok := value(m); !ok {
				a.lacking.Add(m.Name)
			}
		}
	}
	a.dropped = a.dropped || p.Dropped
	return r
}

// value returns a metric of a request, in nanoseconds, tokens, or tokens per
// second.
func (a *Attainer) value(p *answer.Measured, m expr.Metric) (float64, bool) {
	switch {
	case m.Kind == expr.Rate:
		if !p.OutputTokens.OK || !p.E2EL.OK || p.E2EL.V <= 0 {
			return 0, false
		}
		return float64(p.OutputTokens.V) / (float64(p.E2EL.V) / 1e9), true
	case m.Of == answer.TPOT:
		return p.TPOT()
	case m.Of != answer.ITL:
		return p.Value(m.Of).Float()
	case len(p.Gaps) == 0:
		return 0, false
	case m.Percentile != 0:
		if len(a.gaps) == 0 { // sorted once for each request
			a.gaps = append(a.gaps, p.Gaps...)
			slices.Sort(a.gaps)
		}
		return stat.Quantile(a.gaps, m.Percentile/100), true
	}
	switch m.Name {
	case "itl_mean":
		var sum stat.IntSum
		for _, g := range p.Gaps {
			sum.Add(g)
		}
		return sum.Div(len(p.Gaps)), true
	case "itl_min":
		return float64(slices.Min(p.Gaps)), true
	case "itl_max":
		return float64(slices.Max(p.Gaps)), true
	}
	panic("analyze: no such metric in an objective: " + m.Name) // the parser has a list
}

// End implements [Group].
func (a *Attainer) End() error { return nil }

// Set implements [Group].
func (a *Attainer) Set(x *Level, _ *export.Run) { x.SLO = a.finish(x.DurationNS) }

// finish returns the counts and the goodput over the length of the level.
func (a *Attainer) finish(durationNS int64) *Attainment {
	x := a.counts
	x.Lacking = a.lacking.Counts()
	switch judged := x.Met + x.Missed; {
	case judged+x.Failed+x.Unknown == 0:
		x.Share.NA = "no request counts"
	case judged == 0 && x.Unknown > 0:
		x.Share.NA = "no request has " + x.Lacking[0].Name
	default:
		x.Share = Share{V: float64(x.Met) / float64(judged+x.Failed), OK: true}
	}
	if x.Share.OK && durationNS > 0 {
		s := float64(durationNS) / 1e9
		x.Requests = Rate{float64(x.Met) / s, true}
		if a.uncounted == 0 && !a.dropped {
			x.OutputTokens = Rate{a.output.Float64() / s, true}
		}
	}
	slices.SortStableFunc(a.judged, func(x, y judged) int { return cmp.Compare(x.start, y.start) })
	for _, j := range a.judged {
		x.Margins = append(x.Margins, j.margin)
	}
	for _, c := range a.conditions {
		x.Conditions = append(x.Conditions, *c.finish(durationNS))
	}
	return &x
}
