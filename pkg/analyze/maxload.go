package analyze

import (
	"cmp"
	"slices"
	"strconv"
)

// A MaxLoad is how much load a server takes before fewer than Target of the
// requests meet the objective, as a sweep over load levels shows it.
type MaxLoad struct {
	Mode   string // of all the levels
	Target float64
	// Within is the highest level that attains the target with all levels
	// below it; nil when the lowest does not.
	Within *LoadLevel
	// Beyond is the next level, which does not attain it; nil when all do.
	Beyond *LoadLevel
	// Estimate is where the straight line between the shares of the two
	// crosses the target; 0 unless there are both. It is between their loads,
	// and no more certain than that.
	Estimate float64
	// Again says that a level above Beyond attains the target all the same:
	// the levels are noisy, or the load is not what limits.
	Again bool
	// Untold are levels of unknown attainment, which were left out.
	Untold []string
}

// A LoadLevel is a load and how the objective was met at it.
type LoadLevel struct {
	Load  float64
	Value string  // as in the file
	Share float64 // 0 to 1
}

// MaxLoad looks for the highest load at which SLOTarget of the requests meet
// the SLO of rep. It returns nil without an SLO, and where the experiments are not two loads or more of one
// mode. Several experiments of one load count as one.
func (rep *Report) MaxLoad() *MaxLoad {
	type tried struct {
		LoadLevel
		met, judged int
	}
	var all []tried
	target := rep.SLOTarget
	m := &MaxLoad{Target: target}
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		load, err := strconv.ParseFloat(e.Value, 64)
		if i == 0 {
			m.Mode = e.Mode
		}
		if err != nil || e.Mode != m.Mode || e.SLO == nil {
			return nil
		}
		if !e.SLO.Share.OK {
			m.Untold = append(m.Untold, e.Value)
			continue
		}
		met, judged := e.SLO.Met, e.SLO.Met+e.SLO.Missed+e.SLO.Failed
		if j := slices.IndexFunc(all, func(t tried) bool { return t.Load == load }); j >= 0 {
			all[j].met += met
			all[j].judged += judged
		} else {
			all = append(all, tried{LoadLevel{Load: load, Value: e.Value}, met, judged})
		}
	}
	if len(all) < 2 {
		return nil
	}
	slices.SortFunc(all, func(a, b tried) int { return cmp.Compare(a.Load, b.Load) })
	for i := range all {
		t := &all[i]
		t.Share = float64(t.met) / float64(t.judged)
		switch attained := t.Share >= target; {
		case attained && m.Beyond == nil:
			m.Within = &t.LoadLevel
		case attained:
			m.Again = true
		case m.Beyond == nil:
			m.Beyond = &t.LoadLevel
		}
	}
	if w, b := m.Within, m.Beyond; w != nil && b != nil {
		m.Estimate = w.Load + (w.Share-target)/(w.Share-b.Share)*(b.Load-w.Load)
	}
	return m
}
