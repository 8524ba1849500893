package analyze

import (
	"cmp"
	"slices"
)

// A Step is the time from one completed request to the next, with the requests and
// tokens that count in it. The steps of a level cover its time without gaps or
// overlaps and add up to its [Throughput]; they show how much a rate varies.
//
// In a whole level a step ends with the completion of a request that counts, and holds
// this request with all its tokens. In a part of a level a step begins with a completed
// request and holds the tokens that were delivered during the step, as in [Selected];
// the first step begins with the part.
type Step struct {
	Seconds      float64
	Requests     int
	OutputTokens float64 // means nothing where that rate is not OK
}

// stepsOf returns the steps of an analyzed level from all its requests; nil when no time
// passed. The time in lost does not count.
func stepsOf(points []Point, x *Experiment, lost *lostTime) []Step {
	switch {
	case x.DurationNS <= 0:
		return nil
	case x.Selected != nil:
		return stepsWithin(points, x.Selected)
	}
	var done []*Point
	var before uint64
	for i := range points {
		if p := &points[i]; p.Counted {
			if p.StartNS != 0 && (before == 0 || p.StartNS < before) {
				before = p.StartNS
			}
			done = append(done, p)
		}
	}
	slices.SortStableFunc(done, func(a, b *Point) int { return cmp.Compare(a.EndNS, b.EndNS) })
	all := make([]Step, 0, len(done))
	for _, p := range done {
		// An end before the first start, of a clock set back, takes no time.
		end := max(p.EndNS, before)
		all = append(all, Step{lost.counting(before, end).Seconds(), 1, float64(p.OutputTokens.V)})
		before = end
	}
	return all
}

func stepsWithin(points []Point, s *Selected) []Step {
	var ends []uint64
	for i := range points {
		if p := &points[i]; p.complete && p.EndNS >= s.FromNS && p.EndNS < s.ToNS {
			ends = append(ends, p.EndNS)
		}
	}
	slices.Sort(ends)
	bounds := []uint64{s.FromNS}
	if len(ends) > 1 {
		bounds = append(bounds, ends[1:]...)
	}
	bounds = append(bounds, s.ToNS)
	f := flows(points, bounds, s.Level.ToNS)
	all := make([]Step, len(f))
	for i := range f {
		all[i] = Step{s.lost.counting(bounds[i], bounds[i+1]).Seconds(), f[i].requests, f[i].output}
	}
	return all
}
