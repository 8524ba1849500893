package analyze

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A MaxLoad estimates, from a sweep over load levels, the highest load at which at least
// Target of the requests meet the objective.
type MaxLoad struct {
	Mode   string // of all the levels
	Target float64
	// Within is the highest level that attains the target with all levels below it; nil if
	// the lowest level does not attain it.
	Within *LoadLevel
	// Beyond is the next level, which does not attain the target; nil if all levels do.
	Beyond *LoadLevel
	// Estimate is the load at which the straight line between the shares of Within and
	// Beyond crosses the target; 0 unless both exist.
	Estimate float64
	// Interval is the 95 % interval of Estimate, for a share that changes in straight
	// lines from level to level. An end is infinite if no level bounds it on that side.
	// Both ends are NaN if there is no interval, for the reason NA.
	Interval inference.Interval
	NA       string
	// Again says that a level above Beyond attains the target: the levels are noisy, or
	// something other than the load limits.
	Again bool
	// Unknown names the levels of unknown attainment, which were left out.
	Unknown []string
}

// A LoadLevel is a load and the attainment of the objective at this load.
type LoadLevel struct {
	// Load is the rate that was sent, where that is known; else Value as a number.
	Load  float64
	Value string  // as in the file
	Share float64 // 0 to 1
}

// maxLoadConfidence is the confidence of MaxLoad.Interval.
const maxLoadConfidence = 0.95

// A tried is a load of the sweep, and for each of its requests whether it met the
// objective.
type tried struct {
	LoadLevel
	order []bool
}

// MaxLoad estimates the highest load at which SLOTarget of the requests meet the SLO of
// rep. It returns nil without an SLO, and unless the experiments are at least two loads
// of one mode and one kind; an even and a bursty rate do not lie on one curve. Several
// experiments of one load count as one.
func (rep *Report) MaxLoad() *MaxLoad {
	var all []tried
	at := map[float64]int{} // in all, by the named load
	m := &MaxLoad{Target: rep.SLOTarget, Interval: inference.Interval{Low: math.NaN(), High: math.NaN()}}
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		load, err := strconv.ParseFloat(e.Value, 64)
		if i == 0 {
			m.Mode = e.Mode
		}
		if err != nil || e.Mode != m.Mode || e.SLO == nil || kindOfLoad(e) != kindOfLoad(&rep.Experiments[0]) {
			return nil
		}
		if !e.SLO.Share.OK {
			m.Unknown = append(m.Unknown, e.Value)
			continue
		}
		sent := load
		if e.Sent.OK {
			sent = e.Sent.PerSecond
		}
		if j, ok := at[load]; ok {
			t := &all[j]
			if n, more := float64(len(t.order)), float64(len(e.SLO.order)); n+more > 0 {
				t.Load = (n*t.Load + more*sent) / (n + more)
			}
			t.order = slices.Concat(t.order, e.SLO.order)
		} else {
			at[load] = len(all)
			all = append(all, tried{LoadLevel: LoadLevel{Load: sent, Value: e.Value}, order: e.SLO.order})
		}
	}
	if len(all) < 2 {
		return nil
	}
	slices.SortFunc(all, func(a, b tried) int { return cmp.Compare(a.Load, b.Load) })
	levels := make([]inference.Level, len(all))
	within := -1
	for i := range all {
		t := &all[i]
		levels[i] = inference.Level{At: t.Load, Share: inference.Share(t.order)}
		t.Share = levels[i].Share.Value
		switch attained := t.Share >= m.Target; {
		case attained && m.Beyond == nil:
			within, m.Within = i, &t.LoadLevel
		case attained:
			m.Again = true
		case m.Beyond == nil:
			m.Beyond = &t.LoadLevel
		}
	}
	if m.Within != nil && m.Beyond != nil {
		e := inference.Crossing(levels, m.Target, within)
		m.Estimate, m.Interval = e.Value, e.Interval(maxLoadConfidence)
		for _, t := range levels[within : within+2] {
			if na := t.Share.NA; na.Missing() && m.NA == "" {
				m.NA = "at " + strings.ReplaceAll(m.Mode, "_", " ") + " " + strconv.FormatFloat(t.At, 'g', -1, 64) + ", " + na.Reason
			}
		}
	}
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
