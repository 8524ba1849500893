package analyze

import (
	"cmp"
	"sync"

	"github.com/pa-tools/pa/internal/stat"
)

// CertifiedLevels are the percentiles of [Summary.Certified], in percent and in order.
var CertifiedLevels = [...]float64{50, 75, 80, 90, 95, 97, 99, 99.9}

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
	all [len(CertifiedLevels)]Certified
	// places has the place of the Value of each percentile, and then of each Independent; −1 for none.
	places [2 * len(CertifiedLevels)]int
}

// floors returns the smallest number of values that certifies each of CertifiedLevels.
var floors = sync.OnceValue(func() (all [len(CertifiedLevels)]int) {
	for i, level := range CertifiedLevels {
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
	for i, level := range CertifiedLevels {
		worth, alone := 0, 0
		if n >= floors()[i] {
			worth, alone = stat.DependentCertifiedRank(n, effective, level/100), stat.CertifiedRank(n, level/100)
		}
		c.all[i] = Certified{Level: level, OK: worth > 0, Least: floors()[i], IndependentOK: alone > 0}
		c.places[i], c.places[len(CertifiedLevels)+i] = at(worth), at(alone)
	}
	return c
}

// values returns the certified percentiles; p has their places.
func (c *certificate) values(p *picked) *[len(CertifiedLevels)]Certified {
	for i := range c.all {
		c.all[i].Value, c.all[i].Independent = p.at(c.places[i]), p.at(c.places[len(CertifiedLevels)+i])
	}
	return &c.all
}
