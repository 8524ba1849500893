package answer

import (
	"cmp"
	"slices"
	"sort"

	"github.com/pa-tools/pa/pkg/export"
)

// Pauses lists the times in which the recorder could not run, in order and without
// overlaps, rank by rank. Only StartNS, EndNS and Rank of the elements are set. Rank is 1 more
// than the rank that paused, in a run that was merged from shards, else everyRank.
type Pauses []export.Pause

// everyRank is Rank of a pause that touches all requests.
const everyRank = 0

// PausesOf returns the pauses of a run; nil if it has none.
func PausesOf(run *export.Run) Pauses {
	if run.Meta == nil {
		return nil
	}
	var all Pauses
	for _, p := range run.Meta.Pauses {
		rank := everyRank
		if run.Meta.Merged != nil {
			rank = p.Rank + 1
		}
		all = append(all, export.Pause{StartNS: p.StartNS, EndNS: max(p.StartNS, p.EndNS), Rank: rank})
	}
	slices.SortFunc(all, func(a, b export.Pause) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.StartNS, b.StartNS))
	})
	merged := all[:0]
	for _, p := range all {
		if n := len(merged); n > 0 && p.Rank == merged[n-1].Rank && p.StartNS <= merged[n-1].EndNS {
			merged[n-1].EndNS = max(merged[n-1].EndNS, p.EndNS)
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

// Touch reports whether r was in flight, or due and not yet sent, during a pause.
func (p Pauses) Touch(r *export.Request) bool {
	if len(p) == 0 {
		return false
	}
	var from uint64
	for _, t := range [...]uint64{r.ScheduledNS, r.IssuedNS, r.StartNS} {
		if t != 0 && (from == 0 || t < from) {
			from = t
		}
	}
	if from == 0 { // it never left
		from = r.FailedNS
	}
	to := max(from, r.FailedNS)
	if end, ok := r.FinalResponseNS(); ok {
		to = max(to, end)
	}
	rank := everyRank
	if p[0].Rank != everyRank {
		rank = r.Rank + 1
	}
	next := sort.Search(len(p), func(i int) bool { return p[i].Rank > rank || p[i].Rank == rank && p[i].EndNS >= from })
	return from != 0 && next < len(p) && p[next].Rank == rank && p[next].StartNS <= to
}
