package analyze

import (
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

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
func curveOf(p *picked) Curve {
	if p.n < len(CurveLevels) {
		return p.values
	}
	all := make(Curve, len(CurveLevels))
	for i, level := range CurveLevels {
		all[i] = p.percentile(level)
	}
	return all
}
