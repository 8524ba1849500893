package figure

import (
	"errors"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Phases says where the time of the requests of a level went at the server.
type Phases struct {
	// Metrics are the times that the answers state, of [answer.ServerMetrics]; those without a value are absent.
	Metrics []summary.Metric
	// Figures holds the figures that PhaseFigures lists.
	Figures []Figure
}

// The keys of the figures.
const (
	KeyQueueTime   = "queue_ns"
	KeyPrefillTime = "prefill_ns"
	KeyDecodeTime  = "decode_ns"
	KeyOtherTime   = "other_ns"
)

// PhaseFigures are the figures of [Phases] without values, in the order of a report.
var PhaseFigures = [...]Figure{
	{Key: KeyQueueTime, Label: "queue", Unit: "ns", Formula: "mean over the requests that the server ended: growth of the sum / growth of the count"},
	{Key: KeyPrefillTime, Label: "prefill", Unit: "ns", Formula: "growth of the sum / growth of the count, like queue; or mean of timings.prompt_ms"},
	{Key: KeyDecodeTime, Label: "decode", Unit: "ns", Formula: "growth of the sum / growth of the count, like queue; or mean of timings.predicted_ms"},
	{Key: KeyOtherTime, Label: "network, client and rest", Unit: "ns", Formula: "mean E2EL − queue − prefill − decode"},
}

// A phasesCollector gathers the times that answers state.
type phasesCollector struct {
	times   [answer.NumServer]summary.Sample[int64]
	metrics []summary.Metric
}

// NewPhases returns the group of [Phases]. Its values share memory.
func NewPhases(memory *stat.Store) Group {
	c := &phasesCollector{}
	for i := range c.times {
		c.times[i].Memory = memory
	}
	return c
}

// Add implements [Group].
func (c *phasesCollector) Add(p *answer.Measured) {
	for i := range c.times {
		if v := p.Value(answer.ServerMetrics[i].Metric); v.OK {
			c.times[i].AddOne(v.V)
		}
	}
}

// End implements [Group].
func (c *phasesCollector) End() (err error) {
	for i := range c.times {
		if s := c.times[i].Summary(); s != nil {
			c.metrics = append(c.metrics, summary.Metric{Definition: &answer.ServerMetrics[i], Summary: s})
		}
		err = errors.Join(err, c.times[i].Err)
	}
	return err
}

// Set sets the times that answers state; AddPhases completes them.
func (c *phasesCollector) Set(x *Level, _ *export.Run) {
	x.Phases = &Phases{Metrics: c.metrics, Figures: append([]Figure{}, PhaseFigures[:]...)}
}

// AddPhases completes the figures by the servers' figures.
func (x *Level) AddPhases(run *export.Run) {
	p := x.Phases
	triton := run.ServiceKind != nil && *run.ServiceKind == "triton"
	all, known := 0.0, 0
	for i := range p.Figures {
		f := &p.Figures[i]
		m := map[string]answer.Metric{KeyPrefillTime: answer.ServerPrefill, KeyDecodeTime: answer.ServerDecode}[f.Key]
		switch s := summary.Find(p.Metrics, m); {
		case f.Key == KeyOtherTime:
			continue
		case triton && x.decoupled():
			f.Why = "the model is decoupled: Triton's times end before the stream of responses does"
		default:
			f.Value, f.From, f.Why = x.phase(f.Label)
			if f.Why != "" && f.Key != KeyQueueTime && s != nil {
				f.Value, f.From, f.Why = s.Mean, "timings of the answers", ""
			}
			switch {
			case f.Why != noPhase:
			case triton && f.Key != KeyQueueTime:
				f.Why = "Triton does not tell prefill from decode"
			case run.Meta != nil && run.Meta.Import != nil && run.Meta.Import.Format != "":
				f.Why = run.Meta.Import.Format + " holds no times of the server"
			}
		}
		if f.Why == "" {
			known++
			all += f.Value
		}
	}
	other := &p.Figures[len(p.Figures)-1]
	switch e2el := x.Metric(answer.E2EL); {
	case known < len(p.Figures)-1:
		other.Why = "one of the others is not known"
	case e2el == nil:
		other.Why = "no request has an E2EL"
	default:
		other.Value = e2el.Mean - all
	}
}

// decoupled reports whether the times of a Triton server belong to a decoupled model.
func (x *Level) decoupled() bool {
	return x.SeveralResponses || slices.ContainsFunc(x.Server, func(f serverfigures.Figure) bool { return f.Incomparable != "" })
}

// noPhase is the reason why a phase that nothing states is not known.
const noPhase = "no server metric and no answer states it"

// phase returns the mean time of a phase, of all servers together, and the metric that it comes from.
func (x *Level) phase(name string) (ns float64, from, why string) {
	n, models := 0.0, 0
	counter := ""
	for i := range x.Server {
		f := &x.Server[i]
		switch {
		case f.Name != name:
		case f.Kind == serverfigures.Counter:
			counter = f.Metric
		case f.Kind != serverfigures.Time:
		case f.NA != "":
			return 0, "", f.Of + ": " + f.NA
		default:
			if f.Source == "" { // ModelStatistics of a model
				models++
			}
			n += float64(f.N)
			ns += f.Mean * float64(f.N)
			if !slices.Contains(strings.Split(from, ", "), f.Metric) {
				from = strings.TrimPrefix(from+", "+f.Metric, ", ")
			}
		}
	}
	switch {
	case models > 1:
		return 0, "", "requests go through several models, each with a time of its own"
	case n > 0:
		return ns / n, from, ""
	case counter != "":
		return 0, "", counter + " is the time of all requests, and the server does not count them"
	}
	return 0, "", noPhase
}
