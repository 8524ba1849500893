package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Flags that warnings advise if they work on the run.
const (
	trimStart   = "--trim-start"
	steadyState = "--steady-state"
)

// mostTrimmed is the largest part of a level, in percent, that a warning advises to leave out.
const mostTrimmed = 50

// An adviser knows which flags work on a run. A flag that one level refuses ends the report with
// an error, so that it is no advice for the others either.
type adviser struct {
	run  *export.Run
	cfg  Config
	sent [][]requestLatencies // by level: the requests that count
	rep  *Report
}

// works reports whether a report of the same run with the flag refuses nothing, and leaves out the first requests that warnings
// are about. percent is the part that [trimStart] leaves out.
func (a *adviser) works(flag string, percent int) bool {
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
		case flag == steadyState:
			if at, ok := reachesLoad(a.sent[i], &a.run.Experiments[i]); !ok || at <= a.lastOf(i) {
				return false
			}
			most /= 2 // a steady state is assumed to take half of the level
		default:
			if !a.keepsMost(i, percent) {
				return false
			}
			most = most / 100 * time.Duration(100-percent)
		}
		if withinClocks(a.run, most, "a part") != nil {
			return false
		}
	}
	return true
}

// keepsMost reports whether most requests of level i start after this part of it. Of a burst, none may.
func (a *adviser) keepsMost(i, percent int) bool {
	sent := a.sent[i]
	if len(sent) == 0 {
		return true
	}
	first := slices.MinFunc(sent, func(a, b requestLatencies) int { return cmp.Compare(a.start, b.start) }).start
	from, kept := first+uint64(a.rep.Experiments[i].DurationNS)/100*uint64(percent), 0
	for _, r := range sent {
		if r.start >= from {
			kept++
		}
	}
	return 100*kept >= (100-mostTrimmed)*len(sent)
}

// lastOf returns the start of the last request that a warning about the start of level i is about; 0 without such a warning.
func (a *adviser) lastOf(i int) uint64 {
	first := 0
	for _, u := range slices.Concat(a.rep.Experiments[i].Unsteady, a.rep.Experiments[i].Unsettled) {
		first = max(first, u.first)
	}
	sent := a.sent[i]
	if first == 0 || first > len(sent) {
		return 0
	}
	slices.SortFunc(sent, func(a, b requestLatencies) int { return cmp.Compare(a.start, b.start) })
	return sent[first-1].start
}

// trimmed returns the percentage of each level, in tens, that leaves out the requests that warnings are about.
func (a *adviser) trimmed() int {
	percent := 10
	for i := range a.rep.Experiments {
		if last := a.lastOf(i); last > 0 && a.rep.Experiments[i].DurationNS > 0 {
			part := float64(last-a.sent[i][0].start) / float64(a.rep.Experiments[i].DurationNS)
			percent = max(percent, 10*int(math.Ceil(10*min(1, part))))
		}
	}
	return percent
}

// advise completes the warnings about the start of levels.
func (a *adviser) advise() {
	var unsteady []*Unsteady
	for i := range a.rep.Experiments {
		for _, u := range slices.Concat(a.rep.Experiments[i].Unsteady, a.rep.Experiments[i].Unsettled) {
			if u.first > 0 {
				unsteady = append(unsteady, u)
			}
		}
	}
	if unsteady == nil {
		return
	}
	percent := a.trimmed()
	trim := fmt.Sprintf("%s %d%%", trimStart, percent)
	flags := ""
	switch trims, steady := percent <= mostTrimmed && a.works(trimStart, percent), a.works(steadyState, 0); {
	case trims && steady:
		flags = trim + " or " + steadyState
	case trims:
		flags = trim
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
// as many of them were in flight at once as [Steady] asks for, at first at a time.
func reachesLoad(requests []requestLatencies, e *export.Experiment) (atNS uint64, ok bool) {
	users := concurrency(e)
	if users < 1 || users > math.MaxInt32 {
		return 0, false
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
			return x.ns, true
		}
	}
	return 0, false
}
