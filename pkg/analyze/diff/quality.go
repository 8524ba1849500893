package diff

import (
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/answer"
)

// interactivityPercentile is the percentile of E2EL per token whose inverse is the interactivity.
const interactivityPercentile = 90

// ofFigure returns the metric of a figure of a level's [figure.Quality].
func ofFigure(key, name string, unit string, direction inference.Direction, of quantity) *Metric {
	return &Metric{Key: key, Name: name, Unit: unit, Quality: true, Direction: direction, of: of}
}

// ofQuality returns m as a metric that only comparisons with quality have.
func ofQuality(m *Metric) *Metric {
	m.Quality = true
	return m
}

// figureKeys holds the keys of the figures in [figure.Quality].
var figureKeys = map[quantity]string{
	fluidityIndex: "fluidity_index", fluidTokenRate: "fluid_token_rate", tokensInTime: "tokens_in_time", smoothGoodput: "smooth_goodput",
	stallShare: "stall_share", tokensPerEvent: "tokens_per_event", interactivity: "interactivity_p90",
}

// qualityFigures fills the values of the figures of quality, and why one is missing.
func (l *RunLevel) qualityFigures(q *figure.Quality) {
	if q == nil {
		return
	}
	l.figures, l.noFigure = map[quantity]float64{}, map[quantity]string{}
	set := func(key quantity, value float64, n int, why string) {
		if why != "" {
			l.noFigure[key] = why
			return
		}
		l.figures[key], l.n[key] = value, n
	}
	for i := range q.Figures {
		f := &q.Figures[i]
		for which, key := range figureKeys {
			if f.Key == key {
				set(which, f.Value, q.Requests, f.Why)
			}
		}
		if f.Key == "stalled_requests" {
			set(stalledShare, f.Value/float64(q.Requests), q.Requests, f.Why)
		}
	}
	for i := range q.Metrics {
		switch s := q.Metrics[i].Summary; q.Metrics[i].Definition.Metric {
		case answer.NormalizedLatency:
			l.n[interactivity] = s.N
		case answer.TokensPerEvent:
			l.n[tokensPerEvent] = s.N
		}
	}
}

// singleQuality compares a figure of quality of one run with the figure of one run; ok is false for
// other metrics. older and newer are the series of E2EL per token.
func (l *LevelDiff) singleQuality(r *Row, older, newer *inference.Series) (ok bool) {
	o, n := l.Old[0].follow, l.New[0].follow
	switch of := r.Metric.of; of {
	case fluidityIndex, tokensInTime, stallShare, tokensPerEvent:
		r.Comparison = inference.Change(o.ratios[of].estimate(), n.ratios[of].estimate())
	case stalledShare:
		r.Comparison = inference.Change(inference.Share(o.stalled), inference.Share(n.stalled))
	case interactivity: // its change is the inverse of the change of the percentile
		c := inference.Change(newer.Quantile(interactivityPercentile/100.0), older.Quantile(interactivityPercentile/100.0))
		c.Old, c.New = inference.Estimate{Value: r.OldRuns[0], N: c.New.N, NA: c.New.NA}, inference.Estimate{Value: r.NewRuns[0], N: c.Old.N, NA: c.Old.NA}
		r.Comparison = c
	case fluidTokenRate, smoothGoodput:
		l.bare(r, inference.NA{Reason: "no interval from one run a side; compare several runs"})
	default:
		return false
	}
	return true
}
