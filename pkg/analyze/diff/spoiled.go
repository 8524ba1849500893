package diff

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
)

// Above these shares a metric is spoiled.
const (
	mostTogether = 0.05 // of tokens that arrived together with the one before
	mostPaused   = 0.01 // of requests that a pause touched, for medians
)

// spoils returns why the figures of a level of a run do not allow a verdict on a metric; ""
// if they do:
//
//   - The client may have been the limit: then every time and rate may be the client's.
//   - More than 5 % of the tokens arrived together with the one before: their gaps are
//     unknown, and with them the percentiles of ITL. The mean gap and TPOT remain.
//   - The recorder paused, and the pauses are not left out: rates, means and tails contain
//     them; medians if they touched more than 1 % of the requests.
//   - The clock was set: the times that were open then are wrong, which means and tails
//     contain.
func (l *Level) spoils(m *Metric) string {
	if m.of == failedShare {
		return ""
	}
	median := m.pct == 50
	switch {
	case len(l.Saturated) > 0:
		return "the client may be the limit"
	case m.of == itl && m.pct > 0 && l.together() > mostTogether:
		return fmt.Sprintf("%s of the tokens arrived together with the previous one", percent(l.together()))
	case len(l.Pauses) > 0 && !l.withoutPauses && (!median || float64(l.Paused) > mostPaused*float64(l.OK+l.Failed)):
		return fmt.Sprintf("the recorder paused, which touched %s", plural.Of(l.Paused, "request"))
	case l.clockSteps+l.Backward > 0 && m.of < seriesQuantities && !median:
		return "the clock was set while the run was recorded"
	}
	return ""
}

// together returns the share of tokens that arrived together with the one before.
func (l *Level) together() float64 {
	if l.TokenEvents == 0 {
		return 0
	}
	return float64(l.Together) / float64(l.TokenEvents)
}

// spoiled returns why a metric has no verdict: the first reason among the runs of both
// sides, with the run; "" if there is none.
func (l *LevelResult) spoiled(m *Metric) string {
	for _, side := range [...]struct {
		name   string
		levels []*Level
	}{{"old", l.Old}, {"new", l.New}} {
		for _, x := range side.levels {
			if why := x.spoils(m); why != "" {
				run := "the " + side.name + " run"
				if len(side.levels) > 1 {
					run = x.run
				}
				return fmt.Sprintf("%s in %s", why, run)
			}
		}
	}
	return ""
}
