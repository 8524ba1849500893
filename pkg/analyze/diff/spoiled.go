package diff

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A metric is spoiled if a share of its run is above one of these limits.
const (
	maxTogether = 0.05 // share of tokens that arrived together with the previous one
	maxPaused   = 0.01 // share of requests that a pause touched; for medians
)

// Spoils returns why a metric of the level gets no verdict; "" if it may get one. The
// reasons are:
//
//   - The client may have been the limit. Every time and rate may then describe the client.
//   - More than 5 % of the tokens arrived together with the previous one. Their gaps are
//     unknown, so the percentiles of ITL are too. The mean ITL and TPOT are not affected.
//   - The recorder paused, and the pauses are not left out. Rates, means and tails contain
//     the pauses; medians do if the pauses touched more than 1 % of the requests.
//   - The clock was set. Times that were being measured then are wrong, and means and tails
//     contain them.
func (l *Level) Spoils(m *Metric) string {
	if m.of == failedShare || m.of == tokensPerEvent {
		return ""
	}
	median := m.pct == 50
	switch {
	case len(l.Saturated) > 0:
		return "the client may be the limit"
	case (m.of == itl || m.of == itlPerToken) && m.pct > 0 && l.together() > maxTogether:
		return fmt.Sprintf("%s of the tokens arrived together with the previous one", sheet.Share(l.together()))
	case len(l.Pauses) > 0 && !l.withoutPauses && (!median || float64(l.Paused) > maxPaused*float64(l.OK+l.Failed)):
		return fmt.Sprintf("the recorder paused, which touched %s", plural.Of(l.Paused, "request"))
	case l.clockSteps+l.Backward > 0 && (m.of < seriesQuantities || m.Quality) && !median:
		return "the clock was set while the run was recorded"
	}
	return ""
}

// together returns the share of tokens that arrived together with the previous one; 0
// without tokens.
func (l *Level) together() float64 {
	if l.TokenEvents == 0 {
		return 0
	}
	return float64(l.Together) / float64(l.TokenEvents)
}

// spoiled returns why a metric gets no verdict: the first reason that Spoils finds in the
// runs of both sides, and the run; "" if Spoils finds none.
func (l *LevelResult) spoiled(m *Metric) string {
	for _, side := range [...]struct {
		name   string
		levels []*Level
	}{{l.sides.old(), l.Old}, {l.sides.new(), l.New}} {
		for _, x := range side.levels {
			if why := x.Spoils(m); why != "" {
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
