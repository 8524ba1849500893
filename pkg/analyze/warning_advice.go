package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Flags that warnings advise if they work on the run.
const (
	trimStart   = "--trim-start 10%"
	steadyState = "--steady-state"
)

// An adviser knows which flags work on a run. A flag that one level refuses ends the report with
// an error, so that it is no advice for the others either.
type adviser struct {
	run  *export.Run
	cfg  Config
	sent [][]requestLatencies // by level: the requests that count
	rep  *Report
}

// works reports whether a report of the same run with the flag refuses nothing.
func (a *adviser) works(flag string) bool {
	if _, lacks := a.run.Lacks(export.PartStarts); lacks || !a.cfg.Selection.wholeLevel() {
		return false // a selection takes one of these flags
	}
	for i := range a.rep.Experiments {
		x := &a.rep.Experiments[i]
		most := time.Duration(x.DurationNS)
		switch {
		case x.Problem != nil:
			return false
		case x.OK+x.FailedRequests() == 0: // nothing to select from
			continue
		case flag == steadyState && !reachesLoad(a.sent[i], &a.run.Experiments[i]):
			return false
		case flag == trimStart:
			most = most * 9 / 10
		case flag == steadyState:
			most /= 2 // a steady state is assumed to take half of the level
		}
		if withinClocks(a.run, most, "a part") != nil {
			return false
		}
	}
	return true
}

// advise completes the warnings about the start of levels.
func (a *adviser) advise() {
	var unsteady []*Unsteady
	for i := range a.rep.Experiments {
		for _, u := range slices.Concat(a.rep.Experiments[i].Unsteady, a.rep.Experiments[i].Unsettled) {
			if u.start {
				unsteady = append(unsteady, u)
			}
		}
	}
	if unsteady == nil {
		return
	}
	flags := ""
	switch trim, steady := a.works(trimStart), a.works(steadyState); {
	case trim && steady:
		flags = trimStart + " or " + steadyState
	case trim:
		flags = trimStart
	case steady:
		flags = steadyState
	default:
		return
	}
	for _, u := range unsteady {
		u.text += "; " + flags + " leaves the start out"
	}
}

// reachesLoad reports whether the successful requests of a closed loop alone show a steady state:
// as many of them were in flight at once as [Steady] asks for.
func reachesLoad(requests []requestLatencies, e *export.Experiment) bool {
	users := concurrency(e)
	if users < 1 || users > math.MaxInt32 {
		return false
	}
	type edge struct {
		ns    uint64
		delta int
	}
	edges := make([]edge, 0, 2*len(requests))
	for _, r := range requests {
		if r.start != 0 && r.e2el > 0 {
			edges = append(edges, edge{r.start, 1}, edge{r.start + uint64(r.e2el), -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), a.delta-b.delta) // one that ends makes room first
	})
	inFlight, least := 0, threshold(int(users))
	for _, x := range edges {
		if inFlight += x.delta; inFlight >= least {
			return true
		}
	}
	return false
}
