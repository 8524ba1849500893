package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A lostTime is the time of a level that does not count if pauses are left out. All time
// in a pause is lost, and at other times the share of a closed loop's slots that was
// busy with left-out requests:
//
//	lost(t) = 1 in a pause, else min(1, left-out requests in flight at t / slots)
//
// Rates thus divide the requests of the other slots by the time of these slots. With
// the zero value and nil no time is lost.
type lostTime struct {
	at    []uint64  // instants at which the share changes, in order
	share []float64 // from at[i] on
	sum   []float64 // ns lost up to at[i]
}

// newLostTime returns the time that pauses and left-out requests took from a level.
// slots is the concurrency of a closed loop; 0 means another load, which loses only
// the pauses.
func newLostTime(p answer.Pauses, requests []figure.Span, slots float64) *lostTime {
	if slots <= 0 {
		requests = nil
	}
	type change struct {
		at             uint64
		pause, request int
	}
	var changes []change
	for _, s := range p {
		changes = append(changes, change{s.StartNS, 1, 0}, change{s.EndNS, -1, 0})
	}
	for _, s := range requests {
		if s.FromNS != 0 && s.ToNS > s.FromNS {
			changes = append(changes, change{s.FromNS, 0, 1}, change{s.ToNS, 0, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	l := &lostTime{}
	paused, busy, sum := 0, 0, 0.0
	for i, c := range changes {
		if i > 0 {
			sum += l.share[i-1] * float64(c.at-changes[i-1].at)
		}
		paused, busy = paused+c.pause, busy+c.request
		share := 0.0
		switch {
		case paused > 0:
			share = 1
		case busy > 0:
			share = min(1, float64(busy)/slots)
		}
		l.at, l.share, l.sum = append(l.at, c.at), append(l.share, share), append(l.sum, sum)
	}
	return l
}

// until returns the number of nanoseconds lost up to t.
func (l *lostTime) until(t uint64) float64 {
	i := sort.Search(len(l.at), func(i int) bool { return l.at[i] > t }) - 1
	if i < 0 {
		return 0
	}
	return l.sum[i] + l.share[i]*float64(t-l.at[i])
}

// counting returns how much of the time between two instants counts.
func (l *lostTime) counting(from, to uint64) time.Duration {
	d := figure.Span{FromNS: from, ToNS: to}.Duration()
	if l == nil || len(l.at) == 0 || to <= from {
		return d
	}
	lost := math.Round(l.until(to) - l.until(from))
	if lost >= float64(d) { // times of a damaged file may be anything
		return 0
	}
	return d - time.Duration(lost)
}

// pausesIn returns the pauses of a run that overlap part.
func pausesIn(run *export.Run, part figure.Span) []export.Pause {
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

// PausedFor returns how long pauses lasted together: "3.2 s", or "an unknown time" if a length cannot be true.
func PausedFor(pauses []export.Pause) string {
	sum := int64(0)
	for i := range pauses {
		if ns := pauses[i].DurationNS; ns < 0 || ns > export.LongestNS {
			return "an unknown time"
		}
		sum = stat.SaturatingAdd(sum, pauses[i].DurationNS)
	}
	return fmt.Sprintf("%.3g s", time.Duration(sum).Seconds())
}

// pauseWarnings returns the warnings about the pauses in a level. touched is the
// number of requests that they touched; without says that these are left out. possible reports
// whether they can be.
func pauseWarnings(in []export.Pause, touched int, without, possible bool) []error {
	if len(in) == 0 {
		return nil
	}
	cause := in[0].Cause
	for i := range in {
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
		what += " " + plural.Of(len(in), "time")
	}
	requests := plural.Of(touched, "request")
	if without {
		return []error{newWarning(KindPaused, "%s for %s; that time and the %s that it touched are left out", what, PausedFor(in), requests)}
	}
	advice := ""
	if possible {
		advice = "; " + withoutPauses + " leaves them out"
	}
	return []error{newWarning(KindPaused, "%s for %s, which touched %s and distorts latencies and rates%s", what, PausedFor(in), requests, advice)}
}

// withoutPauses is the flag that leaves out pauses.
const withoutPauses = "--without-pauses"

// canLeaveOutPauses reports whether the pauses of a run can be left out: not the pauses of single
// ranks.
func canLeaveOutPauses(run *export.Run) bool {
	return run.Meta == nil || run.Meta.Merged == nil || len(run.Meta.Pauses) == 0
}
