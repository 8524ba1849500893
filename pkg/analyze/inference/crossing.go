package inference

import (
	"math"
	"slices"
)

// A Level is a load and the share of its requests that meet an objective, from [Attained].
type Level struct {
	At    float64
	Share Estimate
}

// A Crossing is the load at which the share of requests that meet an objective falls below a
// target.
type Crossing struct {
	// Within and Beyond are the bounds, as indexes of levels; -1 is none. Beyond is the lowest
	// level whose share is surely below the target: its interval is below. Within is the
	// highest level under Beyond whose share is surely the target or above. The bounds take for
	// granted only that the share does not rise with the load.
	Within, Beyond int
	// Again says that the share of a level above Beyond is surely the target or above.
	Again bool
	// Value is the most likely load; NaN if Above or Under.
	Value float64
	// Above says that every level's share, fitted so that it falls with the load, is the target or
	// more. Under says that every level's fitted share is below the target.
	Above, Under bool
	// Interval is the interval of the load. An end is infinite if there is no bound on its side.
	Interval Interval
	// Unsure holds the indexes of the levels between the bounds. Their shares may lie on
	// either side of the target.
	Unsure []int
}

// CrossingOf estimates where the share falls below the target. There must be levels, in ascending
// order, each with requests.
//
// A share between two levels is not measured. Value interpolates by the first of [scales], and
// Interval is the hull of the intervals by all of them. Interval lies within the bounds.
//
// Requests are taken to depend on each other at least as much as at lower loads, as in a queue.
func CrossingOf(levels []Level, target, confidence float64) Crossing {
	levels = slices.Clone(levels)
	effect := 1.0
	ends := make([]Interval, len(levels))
	c := Crossing{Within: -1, Beyond: -1, Value: math.NaN(), Interval: Interval{math.Inf(-1), math.Inf(1)}}
	for i := range levels {
		e := &levels[i].Share
		effect = math.Max(effect, float64(e.N)/e.EffectiveN)
		*e = attainedOf(e.Value, e.N, effect)
		ends[i] = e.Interval(confidence)
		switch above := ends[i].Low >= target; {
		case above && c.Beyond < 0:
			c.Within = i
		case above:
			c.Again = true
		case ends[i].High < target && c.Beyond < 0:
			c.Beyond = i
		}
	}
	for i := c.Within + 1; i < len(levels) && (c.Beyond < 0 || i < c.Beyond); i++ {
		c.Unsure = append(c.Unsure, i)
	}

	shares := falling(levels)
	last := -1 // level whose fitted share is the target or above
	for last+1 < len(levels) && shares[last+1] >= target {
		last++
	}
	last = max(last, c.Within)
	if c.Beyond >= 0 {
		last = min(last, c.Beyond-1)
	}
	c.Above, c.Under = last == len(levels)-1, last < 0
	if last >= 0 && last+1 < len(levels) {
		c.Value = scales[0].crossing(levels[last:last+2], shares[last:last+2], target)
	}
	if w := c.Within; w >= 0 {
		c.Interval.Low = levels[w].At
		if w+1 < len(levels) {
			c.Interval.Low = math.Inf(1)
			for i := range scales {
				c.Interval.Low = math.Min(c.Interval.Low, scales[i].reach(levels[w:w+2], ends[w:w+2], target, -1))
			}
		}
		c.Interval.Low = math.Min(c.Interval.Low, orInf(c.Value, 1))
	}
	if b := c.Beyond; b >= 0 {
		c.Interval.High = levels[b].At
		if b > 0 {
			c.Interval.High = math.Inf(-1)
			for i := range scales {
				c.Interval.High = math.Max(c.Interval.High, scales[i].reach(levels[b-1:b+1], ends[b-1:b+1], target, 1))
			}
		}
		c.Interval.High = math.Max(c.Interval.High, orInf(c.Value, -1))
	}
	return c
}

// orInf returns v, or an infinity if v is not a number.
func orInf(v float64, sign int) float64 {
	if math.IsNaN(v) {
		return math.Inf(sign)
	}
	return v
}

// Lowest returns the load at which the first of several objectives is missed, from the crossings
// of each objective over the same levels. There must be at least one.
func Lowest(all []Crossing) Crossing {
	lowest := all[0]
	unsure := slices.Clone(lowest.Unsure)
	for _, c := range all[1:] {
		lowest.Within = min(lowest.Within, c.Within)
		if c.Beyond >= 0 && (lowest.Beyond < 0 || c.Beyond < lowest.Beyond) {
			lowest.Beyond = c.Beyond
		}
		lowest.Again = lowest.Again || c.Again
		lowest.Above, lowest.Under = lowest.Above && c.Above, lowest.Under || c.Under
		lowest.Value = math.Min(orInf(lowest.Value, 1), orInf(c.Value, 1))
		lowest.Interval.Low = math.Min(lowest.Interval.Low, c.Interval.Low)
		lowest.Interval.High = math.Min(lowest.Interval.High, c.Interval.High)
		unsure = append(unsure, c.Unsure...)
	}
	if lowest.Value = math.Min(lowest.Value, lowest.Interval.High); math.IsInf(lowest.Value, 1) || lowest.Under {
		lowest.Value = math.NaN()
	}
	slices.Sort(unsure)
	lowest.Unsure = slices.DeleteFunc(slices.Compact(unsure), func(i int) bool {
		return i <= lowest.Within || lowest.Beyond >= 0 && i >= lowest.Beyond
	})
	return lowest
}

// RequestsToTell returns about how many requests show on which side of the target a share is, if
// it stays the same and the requests depend on each other as before; +Inf for the target itself.
func RequestsToTell(share *Estimate, target, confidence float64) float64 {
	t := StudentQuantile(confidence, waves)
	independent := square(t/(share.Value-target)) * target * (1 - target)
	return independent * float64(share.N) / share.EffectiveN
}

// falling returns the shares that fit the levels best if the share does not rise with the load.
// Neighbours that rise have their average, weighted by effective numbers: isotonic regression
// by pooling (Ayer et al., Annals of Mathematical Statistics 26, 1955).
func falling(levels []Level) []float64 {
	type pool struct {
		share, weight float64
		n             int
	}
	var pools []pool
	for i := range levels {
		p := pool{levels[i].Share.Value, levels[i].Share.EffectiveN, 1}
		for len(pools) > 0 && pools[len(pools)-1].share < p.share {
			before := pools[len(pools)-1]
			weight := before.weight + p.weight
			p = pool{(before.share*before.weight + p.share*p.weight) / weight, weight, before.n + p.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	var shares []float64
	for _, p := range pools {
		shares = append(shares, slices.Repeat([]float64{p.share}, p.n)...)
	}
	return shares
}

// A scale is a rule of interpolation: of(share) follows a straight line over x(load) between two
// levels. of grows with the share; load is the inverse of x.
type scale struct {
	of, x, load func(float64) float64
}

// scales are the rules of interpolation. None is right for every server:
//
//   - The normal quantile of the share over the logarithm of the load is right if latencies are
//     lognormal and grow as a power of the load, which is near to a closed loop.
//   - The logarithm of the share of misses over the load is right for an exponential tail whose
//     rate falls as the load grows, which is near to a queue.
//   - The straight line is the rule without a model.
var scales = [...]scale{
	{normalQuantile, math.Log, math.Exp},
	{func(share float64) float64 { return -math.Log1p(-share) }, identity, identity},
	{identity, identity, identity},
}

func identity(v float64) float64 { return v }

// between returns the load at a part of the way between two levels.
func (s *scale) between(pair []Level, part float64) float64 {
	a, b := s.x(pair[0].At), s.x(pair[1].At)
	return math.Min(math.Max(s.load(a+part*(b-a)), pair[0].At), pair[1].At)
}

// value returns a share on the scale. Shares of 0 and 1 count half a request.
func (s *scale) value(share float64, n int) float64 {
	least := 0.5 / float64(n)
	return s.of(math.Min(math.Max(share, least), 1-least))
}

// crossing returns the load between two levels at which the line through their shares crosses
// the target.
func (s *scale) crossing(pair []Level, shares []float64, target float64) float64 {
	a, b := s.value(shares[0], pair[0].Share.N), s.value(shares[1], pair[1].Share.N)
	part := (a - s.of(target)) / (a - b)
	if !(part > 0) { // few requests, whose half is beyond the target, or equal levels
		part = 0
	}
	return s.between(pair, math.Min(part, 1))
}

// reach returns the load between two levels from which on the interval of the share is no longer
// above the target (side −1), or is below the target (side 1). At a part p of the way, the end of the
// interval is off the line by
//
//	√( ((1−p)·distance of a)² + (p·distance of b)² ),
//
// with the distances of the ends from the shares of the levels a and b (Zou and Donner, Statistics
// in Medicine 27, 2008). There is one such load, because the distance is convex.
func (s *scale) reach(pair []Level, ends []Interval, target float64, side int) float64 {
	var values, distances [2]float64
	for i := range values {
		values[i] = s.value(pair[i].Share.Value, pair[i].Share.N)
		end := ends[i].High
		if side < 0 {
			end = ends[i].Low
		}
		distances[i] = math.Max(0, float64(side)*(s.of(end)-values[i]))
	}
	goal := s.of(target)
	from, to := 0.0, 1.0
	for range 53 { // the precision of a float64
		p := from + (to-from)/2
		off := math.Hypot((1-p)*distances[0], p*distances[1])
		if (1-p)*values[0]+p*values[1]+float64(side)*off >= goal {
			from = p
		} else {
			to = p
		}
	}
	return s.between(pair, from)
}
