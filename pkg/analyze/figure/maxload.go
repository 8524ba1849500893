package figure

import (
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// A MaxLoad estimates, from a sweep over load levels, the highest load at which at least
// Target of the requests meet the objective.
type MaxLoad struct {
	Mode   string  // of all the levels
	Target float64 // 0 if there are several objectives, each with its target
	// Within is the highest level that surely attains the target, below all levels that surely
	// do not; nil if there is none. Surely means that the 95 % interval of the share does not
	// hold the target.
	Within *LoadLevel
	// Beyond is the lowest level that surely does not attain the target; nil if there is none.
	Beyond *LoadLevel
	// Estimate is the most likely load; NaN if the shares of all levels attain the target, or
	// if none does. See [inference.CrossingOf].
	Estimate float64
	// Above is the highest level if the shares of all levels attain the target, and Under the lowest
	// level if none does: the most likely load is beyond this level. They are nil otherwise.
	Above, Under *LoadLevel
	// Interval is the 95 % interval of the highest load. It does not leave the bounds Within and
	// Beyond, and an end without a bound is infinite.
	Interval inference.Interval
	// NA is the reason why a bound is missing.
	NA string
	// Again says that a level above Beyond surely attains the target: something other than
	// the load limits.
	Again bool
	// Next are the loads whose measurement would narrow the bounds: new loads if NextRequests
	// is 0, else measured levels, as they are named, that need about NextRequests requests.
	Next         []float64
	NextRequests int
	// Unknown names the levels of unknown attainment, which were left out.
	Unknown []string
}

// A LoadLevel is a load and the attainment of the objective at this load.
type LoadLevel struct {
	// Load is the rate that was sent, where that is known; else Value as a number.
	Load  float64
	Value string  // as in the file
	Share float64 // 0 to 1; NaN if there are several objectives
}

// named returns Value as a number; Load if it is none.
func (l *LoadLevel) named() float64 {
	if v, err := strconv.ParseFloat(l.Value, 64); err == nil {
		return v
	}
	return l.Load
}

// A LoadObjective is an objective of a sweep: a share of the requests of every level.
type LoadObjective struct {
	Target float64
	Shares []inference.Estimate // one for each level, from [inference.Attained]
}

// maxLoadConfidence is the confidence of the bounds and of MaxLoad.Interval.
const maxLoadConfidence = 0.95

// MaxLoadOf estimates the highest load at which all objectives are met. The levels are of one
// mode, in ascending order, and all have requests.
func MaxLoadOf(mode string, levels []LoadLevel, objectives ...LoadObjective) *MaxLoad {
	m := &MaxLoad{Mode: mode}
	if len(objectives) == 1 {
		m.Target = objectives[0].Target
	}
	var crossings []inference.Crossing
	for _, o := range objectives {
		at := make([]inference.Level, len(levels))
		for i := range levels {
			at[i] = inference.Level{At: levels[i].Load, Share: o.Shares[i]}
		}
		crossings = append(crossings, inference.CrossingOf(at, o.Target, maxLoadConfidence))
	}
	c := inference.Lowest(crossings)
	m.Estimate, m.Interval, m.Again = c.Value, c.Interval, c.Again
	if c.Within >= 0 {
		m.Within = &levels[c.Within]
	}
	if c.Beyond >= 0 {
		m.Beyond = &levels[c.Beyond]
	}
	switch {
	case c.Above:
		m.Above = &levels[len(levels)-1]
	case c.Under:
		m.Under = &levels[0]
	}
	switch {
	case m.Within == nil && m.Beyond == nil:
		m.NA = "no level surely attains or misses the target"
	case m.Within == nil:
		m.NA = "no level surely attains the target"
	case m.Beyond == nil:
		m.NA = "no level surely misses the target"
	}
	if !m.repeatUnsure(levels, c.Unsure, objectives) {
		m.Next = m.between(levels)
	}
	return m
}

const (
	// mostNext is the largest number of loads in MaxLoad.Next.
	mostNext = 3
	// mostMore bounds the requests that a level is advised to have: as a multiple of the
	// requests that it had, or in all.
	mostMore, mostMoreRequests = 20, 10_000
	// mostDigits is the number of digits that a float64 holds.
	mostDigits = 15
	// leastMore is how many times as many requests a level is advised to have at least.
	leastMore = 1.5
)

// repeatUnsure sets Next to levels that a few more requests make sure: the highest whose shares
// attain the targets, and the lowest whose shares do not. It reports whether there are such levels.
func (m *MaxLoad) repeatUnsure(levels []LoadLevel, unsure []int, objectives []LoadObjective) bool {
	type need struct{ load, requests float64 } // a load of 0 is none
	var below, above need
	for _, i := range unsure {
		attain, miss := 0.0, math.Inf(1) // requests that show that all objectives are met, or that one is not
		n := 0
		for _, o := range objectives {
			s := &o.Shares[i]
			n = s.N
			requests := inference.RequestsToTell(s, o.Target, maxLoadConfidence)
			if s.Value >= o.Target {
				attain = max(attain, requests)
			} else {
				attain, miss = math.Inf(1), min(miss, requests)
			}
		}
		requests := min(attain, miss)
		if !(requests <= max(mostMore*float64(n), mostMoreRequests)) {
			continue
		}
		level := need{levels[i].named(), max(requests, leastMore*float64(n))}
		switch {
		case attain <= miss:
			below = level
		case above.load == 0:
			above = level
		}
	}
	for _, level := range [...]need{below, above} {
		if level.load > 0 {
			m.Next = append(m.Next, level.load)
		}
	}
	slices.Sort(m.Next)
	m.NextRequests = int(atMostDigits(max(below.requests, above.requests), 2, math.Ceil))
	return m.Next != nil
}

// between returns loads between the bounds that have not been measured: up to mostNext within the
// interval, evenly on a logarithmic scale. Without an upper bound they are multiples of the highest
// load, and without a lower bound parts of the lowest load.
func (m *MaxLoad) between(levels []LoadLevel) (next []float64) {
	whole := m.Mode != export.ModeRequestRate
	for _, l := range levels {
		whole = whole && l.Load == math.Trunc(l.Load)
	}
	first, last := levels[0].Load, levels[len(levels)-1].Load
	var candidates []float64
	low, high := m.Interval.Low, m.Interval.High
	digits := 2
	switch {
	case m.Within == nil && m.Beyond == nil:
		return nil
	case m.Beyond == nil:
		candidates = []float64{2 * last, 4 * last}
	case m.Within == nil:
		candidates = []float64{first / 4, first / 2}
	case whole && math.Ceil(high)-math.Floor(low) < mostNext+1:
		digits = mostDigits // whole as they are
		for load := math.Floor(low); load <= math.Ceil(high); load++ {
			candidates = append(candidates, load)
		}
	default:
		if high < 1.25*low { // two digits would be the same
			digits = 3
		}
		for i := range mostNext {
			candidates = append(candidates, low*math.Pow(high/low, float64(i+1)/(mostNext+1)))
		}
	}
	for _, load := range candidates {
		if load = atMostDigits(load, digits, math.Round); whole {
			load = math.Round(load)
		}
		outside := load <= 0 || m.Within != nil && load <= m.Within.Load || m.Beyond != nil && load >= m.Beyond.Load
		near := func(l LoadLevel) bool {
			off := min(math.Abs(l.Load-load), math.Abs(l.named()-load))
			return off == 0 || !whole && off < 0.01*load
		}
		if !outside && !slices.Contains(next, load) && !slices.ContainsFunc(levels, near) {
			next = append(next, load)
		}
	}
	return next[:min(len(next), mostNext)]
}

// Rounded returns the estimate with two significant digits, and the interval with its ends
// rounded outwards to two digits, but not beyond the bounds.
func (m *MaxLoad) Rounded() (estimate float64, interval inference.Interval) {
	interval.Low, interval.High = atMostDigits(m.Interval.Low, 2, math.Floor), atMostDigits(m.Interval.High, 2, math.Ceil)
	if m.Within != nil {
		interval.Low = max(interval.Low, m.Within.Load)
	}
	if m.Beyond != nil {
		interval.High = min(interval.High, m.Beyond.Load)
	}
	return min(max(atMostDigits(m.Estimate, 2, math.Round), interval.Low), interval.High), interval
}

// atMostDigits rounds v > 0 to a number of significant digits.
func atMostDigits(v float64, digits int, round func(float64) float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
		return v
	}
	exponent := int(math.Floor(math.Log10(v))) - digits + 1
	if exponent < 0 { // whole powers of ten have no rounding error
		unit := math.Pow10(-exponent)
		return round(v*unit) / unit
	}
	unit := math.Pow10(exponent)
	return round(v/unit) * unit
}
