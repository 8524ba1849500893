package analyze

import (
	"slices"
	"sort"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// pauses are times in which the recorder could not run: in order, without overlaps.
type pauses []Span

// pausesOf returns the pauses of a run.
func pausesOf(run *export.Run) pauses {
	if run.Meta == nil {
		return nil
	}
	var all pauses
	for _, p := range run.Meta.Pauses {
		all = append(all, Span{p.StartNS, max(p.StartNS, p.EndNS)})
	}
	slices.SortFunc(all, func(a, b Span) int {
		switch {
		case a.FromNS < b.FromNS:
			return -1
		case a.FromNS > b.FromNS:
			return 1
		}
		return 0
	})
	merged := all[:0]
	for _, p := range all {
		if n := len(merged); n > 0 && p.FromNS <= merged[n-1].ToNS {
			merged[n-1].ToNS = max(merged[n-1].ToNS, p.ToNS)
			continue
		}
		merged = append(merged, p)
	}
	return merged
}

// from returns the pauses that end at t or later.
func (p pauses) from(t uint64) pauses {
	return p[sort.Search(len(p), func(i int) bool { return p[i].ToNS >= t }):]
}

// touch reports whether a request was in flight, or due and not sent yet, in a
// pause.
func (p pauses) touch(r *export.Request) bool {
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
		from = r.EndedNS
	}
	to := max(from, r.EndedNS)
	if end, ok := r.EndNS(); ok {
		to = max(to, end)
	}
	rest := p.from(from)
	return from != 0 && len(rest) > 0 && rest[0].FromNS <= to
}

// running returns how long the recorder ran between two instants.
func (p pauses) running(from, to uint64) time.Duration {
	d := Span{from, to}.Duration()
	for _, x := range p.from(from) {
		if x.FromNS >= to {
			break
		}
		d -= Span{max(x.FromNS, from), min(x.ToNS, to)}.Duration()
	}
	return max(d, 0)
}

// pausesIn returns the pauses of a run that were during part of it.
func pausesIn(run *export.Run, part Span) []export.Pause {
	if run.Meta == nil {
		return nil
	}
	var in []export.Pause
	for _, p := range run.Meta.Pauses {
		if p.EndNS >= part.FromNS && p.StartNS <= part.ToNS {
			in = append(in, p)
		}
	}
	return in
}

// pauseWarnings says what pauses did to a level. all are the requests of the level
// that they touched, and without that those are left out.
func pauseWarnings(in []export.Pause, touched int, without bool) []error {
	if len(in) == 0 {
		return nil
	}
	sum, cause := time.Duration(0), in[0].Cause
	for i := range in {
		sum += time.Duration(in[i].DurationNS)
		if in[i].Cause != cause {
			cause = ""
		}
	}
	what := "the recorder was paused"
	switch cause {
	case export.PauseStopped:
		what = "the recorder's process was stopped"
	case export.PauseSuspended:
		what = "the recorder's machine was suspended"
	}
	if len(in) > 1 {
		what += " " + plural(len(in), "time", "times")
	}
	requests := plural(touched, "request", "requests")
	if without {
		return []error{warningf("%s for %.3g s; that time and the %s that it touched are left out", what, sum.Seconds(), requests)}
	}
	return []error{warningf("%s for %.3g s, which touched %s and distorts latencies and rates; --without-pauses leaves them out", what, sum.Seconds(), requests)}
}
