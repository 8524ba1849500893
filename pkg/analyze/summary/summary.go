package summary

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
)

// Levels are the percentiles of a [Summary], in percent and in order.
var Levels = [...]float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// A Summary describes a distribution. All values are in the unit of the
// metric; a Summary of no values does not exist.
type Summary struct {
	N    int
	Mean float64 // the exact sum, divided once
	Std  float64 // over the population (divided by N), exact for integers up to the rounding; 0 for one value
	Min  float64
	Max  float64
	// Pct holds the percentiles at Levels, type 7 (numpy's linear): exact.
	Pct [len(Levels)]float64
	// EffectiveN is the number of independent values that the N values are worth for Certified, at most N; 0
	// if it is not known.
	EffectiveN float64
	// Certified holds the percentiles at certifiedLevels; nil unless Sample.Certified asked for
	// them.
	Certified *[len(certifiedLevels)]Certified
	// Curve holds the percentiles at CurveLevels; nil unless Sample.Curve asked for them.
	Curve Curve
	// AtMost holds for each of Sample.Bounds how many values are at most the bound; nil without bounds.
	AtMost []int
}

// P returns the percentile at a level, one of Levels. It panics for any other level.
func (s *Summary) P(level float64) float64 {
	i := slices.Index(Levels[:], level)
	if i < 0 {
		panic("summary: not a percentile level")
	}
	return s.Pct[i]
}

// pickedValues holds the values of a sample that its summary needs, by their places in ascending order.
type pickedValues struct {
	n      int   // all values of the sample
	places []int // from 0, in ascending order
	values []float64
}

// pickedOf returns pickedValues with room for the values, for the places that exist among n values. It changes places.
func pickedOf(n int, places []int) pickedValues {
	places = slices.DeleteFunc(places, func(i int) bool { return i < 0 || i >= n })
	slices.Sort(places)
	places = slices.Compact(places)
	return pickedValues{n: n, places: places, values: make([]float64, 0, len(places))}
}

// at returns the value at a place; 0 if the place does not exist.
func (p *pickedValues) at(place int) float64 {
	if i, ok := slices.BinarySearch(p.places, place); ok {
		return p.values[i]
	}
	return 0
}

// percentilePlaces appends the places that percentiles of n values need, in any order. The place after the last
// may be among them.
func percentilePlaces(places []int, n int, levels []float64) []int {
	for _, level := range levels {
		k, _ := stat.Position(n, level/100)
		places = append(places, k, k+1)
	}
	return places
}

// percentile returns a percentile whose places are in p.
func (p *pickedValues) percentile(level float64) float64 {
	k, f := stat.Position(p.n, level/100)
	v := p.at(k)
	if f != 0 {
		v = stat.Between(v, p.at(k+1), f)
	}
	return v
}

// summaryPlaces returns the places that describe needs, with room for another one.
func summaryPlaces(n int) []int {
	return percentilePlaces(append(make([]int, 0, 2*len(Levels)+3), 0, n-1), n, Levels[:])
}

// describe sets the ends and the percentiles of d.
func (p *pickedValues) describe(d *Summary) {
	d.Min, d.Max = p.at(0), p.at(p.n-1)
	for i, level := range Levels {
		d.Pct[i] = p.percentile(level)
	}
}

// A Metric is a definition with the summary of its values.
type Metric struct {
	Definition *answer.Definition
	Summary    *Summary
}

// Find returns the summary of a metric; nil if it has no values.
func Find(all []Metric, m answer.Metric) *Summary {
	for i := range all {
		if all[i].Definition.Metric == m {
			return all[i].Summary
		}
	}
	return nil
}

// certifiedLevels are the percentiles of [Summary.Certified], in percent and in order.
var certifiedLevels = [...]float64{50, 75, 80, 90, 95, 97, 99, 99.9}

// A Certified is a percentile by MLPerf's early stopping: at a confidence of 99 %, the true
// percentile is not above Value. It is one of the values and never below the plain percentile. See
// [stat.CertifiedConfidence] for the formula.
//
// Requests of one run depend on each other, so Value counts with the number of independent values that they
// are worth, Summary.EffectiveN. MLPerf takes all values for independent.
type Certified struct {
	Level float64 // in percent
	Value float64
	// OK is false if the values are worth too few independent ones: fewer than Least.
	OK    bool
	Least int
	// Independent is the value that MLPerf certifies, right only if all values are independent;
	// IndependentOK is false if even these were too few.
	Independent   float64
	IndependentOK bool
}

// A certificate holds certified percentiles without their values.
type certificate struct {
	all [len(certifiedLevels)]Certified
	// places has the place of the Value of each percentile, and then of each Independent; −1 for none.
	places [2 * len(certifiedLevels)]int
}

// floors returns the smallest number of values that certifies each of certifiedLevels.
var floors = sync.OnceValue(func() (all [len(certifiedLevels)]int) {
	for i, level := range certifiedLevels {
		all[i] = stat.CertifiedFloor(level / 100)
	}
	return all
})

// certificateOf returns the certificate of n values that are worth effective independent ones; 0 if that is
// not known, and they count as independent.
func certificateOf(n int, effective float64) certificate {
	effective = cmp.Or(effective, float64(n))
	var c certificate
	at := func(budget int) int {
		if budget == 0 {
			return -1
		}
		return n - budget
	}
	for i, level := range certifiedLevels {
		worth, alone := 0, 0
		if n >= floors()[i] {
			worth, alone = stat.DependentCertifiedRank(n, effective, level/100), stat.CertifiedRank(n, level/100)
		}
		c.all[i] = Certified{Level: level, OK: worth > 0, Least: floors()[i], IndependentOK: alone > 0}
		c.places[i], c.places[len(certifiedLevels)+i] = at(worth), at(alone)
	}
	return c
}

// values returns the certified percentiles; p has their places.
func (c *certificate) values(p *pickedValues) *[len(certifiedLevels)]Certified {
	for i := range c.all {
		c.all[i].Value, c.all[i].Independent = p.at(c.places[i]), p.at(c.places[len(certifiedLevels)+i])
	}
	return &c.all
}

// CurveLevels are the percentiles of [Summary.Curve], in percent and in order: every half from 0 to 99,
// then a tail whose distance to 100 falls by factors of ten, and 100.
var CurveLevels = curveLevels()

// halves is the number of percentiles from 0 to 99.
const halves = 2*99 + 1

func curveLevels() (all [halves + 11]float64) {
	for i := range halves {
		all[i] = float64(i) / 2
	}
	copy(all[halves:], []float64{99.2, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99, 99.995, 99.998, 99.999, 100})
	return all
}

// A Curve holds the percentiles at [CurveLevels] of many values, and fewer values themselves, in ascending order.
type Curve []float64

// At returns the percentile at CurveLevels[i], computed like [Summary.Pct].
func (c Curve) At(i int) float64 {
	if len(c) < len(CurveLevels) {
		return stat.Quantile(c, CurveLevels[i]/100)
	}
	return c[i]
}

// curvePlaces appends the places that curveOf needs of n values.
func curvePlaces(places []int, n int) []int {
	if n >= len(CurveLevels) {
		return percentilePlaces(slices.Grow(places, 2*len(CurveLevels)), n, CurveLevels[:])
	}
	places = slices.Grow(places[:0], n) // all places, so the summary has its own among them
	for i := range n {
		places = append(places, i)
	}
	return places
}

// curveOf returns the Curve of the values of p, which has its places.
func curveOf(p *pickedValues) Curve {
	if p.n < len(CurveLevels) {
		return p.values
	}
	all := make(Curve, len(CurveLevels))
	for i, level := range CurveLevels {
		all[i] = p.percentile(level)
	}
	return all
}
