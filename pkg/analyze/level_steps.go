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

// stepsOf calls add with the steps of an analyzed level, of all its requests; with none when no time
// passed. The time in lost does not count.
func stepsOf(points eachPoint, x *Experiment, lost *lostTime, add func(Step)) {
	switch {
	case x.DurationNS <= 0:
		return
	case x.Selected != nil:
		stepsWithin(points, x.Selected, add)
		return
	}
	type completed struct {
		endNS  uint64
		tokens int64
	}
	done := make([]completed, 0, x.OK)
	var before uint64
	points(func(p *Point) bool {
		if p.Counted {
			if p.StartNS != 0 && (before == 0 || p.StartNS < before) {
				before = p.StartNS
			}
			done = append(done, completed{p.EndNS, p.OutputTokens.V})
		}
		return true
	})
	slices.SortStableFunc(done, func(a, b completed) int { return cmp.Compare(a.endNS, b.endNS) })
	for _, d := range done {
		// An end before the first start, of a clock set back, takes no time.
		end := max(d.endNS, before)
		add(Step{lost.counting(before, end).Seconds(), 1, float64(d.tokens)})
		before = end
	}
}

func stepsWithin(points eachPoint, s *Selected, add func(Step)) {
	var ends []uint64
	points(func(p *Point) bool {
		if p.complete && p.EndNS >= s.FromNS && p.EndNS < s.ToNS {
			ends = append(ends, p.EndNS)
		}
		return true
	})
	slices.Sort(ends)
	if len(ends) == 0 {
		ends = []uint64{0}
	}
	bounds := ends
	bounds[0] = s.FromNS // where the first step begins
	bounds = append(bounds, s.ToNS)
	f := flows(points, bounds, s.Level.ToNS)
	for i := range f {
		add(Step{s.lost.counting(bounds[i], bounds[i+1]).Seconds(), f[i].requests, f[i].output})
	}
}
