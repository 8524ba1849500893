package diff

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// Within estimates a metric of the level from its requests in the order of time, with an interval for this run
// alone: it does not include how much runs differ. The run must have been read with Config.Series, and not be
// closed yet. The share of failed requests and metrics of quality have no estimate.
func (l *Level) Within(m *Metric) inference.Estimate {
	none := func(why string) inference.Estimate {
		return inference.Estimate{Value: l.Statistic(m.Key), NA: inference.NA{Reason: why}}
	}
	switch {
	case l.Problem != nil:
		return none(l.Problem.Error())
	case math.IsNaN(l.Statistic(m.Key)):
		return none("the run has no value")
	case l.untimed != "":
		return none("the order of time is not known: " + l.untimed)
	case l.follow == nil || m.Quality || m.of == failedShare:
		return none("no values in the order of time")
	case m.of == requestRate:
		return l.follow.rate(l.follow.done)
	case m.of == outputRate:
		return l.follow.rate(l.follow.tokens)
	case m.pct == 0:
		return l.follow.of(m.of).Mean()
	}
	return l.follow.of(m.of).Quantile(m.pct / 100)
}
