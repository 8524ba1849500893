package analyze

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A tried is a load of the sweep, and the margins of its requests.
type tried struct {
	figure.LoadLevel
	margins []float32
}

// MaxLoad estimates the highest load at which SLOTarget of the requests meet the SLO of
// rep. It returns nil without an SLO, and unless the experiments are at least two loads
// of one mode and one kind; an even and a bursty rate do not lie on one curve. Several
// experiments of one load count as one.
func (rep *Report) MaxLoad() *figure.MaxLoad {
	var all []tried
	at := map[float64]int{} // in all, by the named load
	mode, unknown := "", []string(nil)
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		load, err := strconv.ParseFloat(e.Value, 64)
		if i == 0 {
			mode = e.Mode
		}
		if err != nil || e.Mode != mode || e.SLO == nil || kindOfLoad(e) != kindOfLoad(&rep.Experiments[0]) {
			return nil
		}
		if !e.SLO.Share.OK {
			unknown = append(unknown, e.Value)
			continue
		}
		sent := load
		if e.Sent.OK {
			sent = e.Sent.PerSecond
		}
		if j, ok := at[load]; ok {
			t := &all[j]
			if n, more := float64(len(t.margins)), float64(len(e.SLO.Margins)); n+more > 0 {
				t.Load = (n*t.Load + more*sent) / (n + more)
			}
			t.margins = slices.Concat(t.margins, e.SLO.Margins)
		} else {
			at[load] = len(all)
			all = append(all, tried{LoadLevel: figure.LoadLevel{Load: sent, Value: e.Value}, margins: e.SLO.Margins})
		}
	}
	if len(all) < 2 {
		return nil
	}
	slices.SortFunc(all, func(a, b tried) int { return cmp.Compare(a.Load, b.Load) })
	levels := make([]figure.LoadLevel, len(all))
	objective := figure.LoadObjective{Target: rep.SLOTarget}
	for i := range all {
		share := inference.Attained(all[i].margins)
		levels[i] = all[i].LoadLevel
		levels[i].Share = share.Value
		objective.Shares = append(objective.Shares, share)
	}
	m := figure.MaxLoadOf(mode, levels, objective)
	m.Unknown = unknown
	return m
}

// kindOfLoad returns the recorder's description of a load without its first number, the
// amount: "request rate , poisson" for a rate of 10; "" if there is no description.
func kindOfLoad(e *Experiment) string {
	at := strings.IndexAny(e.Load, "0123456789")
	if at < 0 {
		return e.Load
	}
	return e.Load[:at] + strings.TrimLeft(e.Load[at:], "0123456789.")
}
