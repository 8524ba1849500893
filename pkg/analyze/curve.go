package analyze

import "github.com/pa-tools/pa/internal/stat"

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

// A curve makes the Curve of n sorted values that pass by. The zero value makes none.
type curve struct {
	few    Curve        // all values that passed, if they are few; else nil
	points []curvePoint // of many values
	// below and above are the first points that lack the value below them and the value above.
	below, above, passed int
}

// A curvePoint is a percentile: the fraction f of the way from the value k to the next.
type curvePoint struct {
	k        int
	f        float64
	at, next float64 // values k and k+1
}

func curveOf(n int) curve {
	if n < len(CurveLevels) {
		return curve{few: make(Curve, 0, n)}
	}
	c := curve{points: make([]curvePoint, len(CurveLevels))}
	for i, level := range CurveLevels {
		c.points[i].k, c.points[i].f = stat.Position(n, level/100)
	}
	return c
}

// indexes returns the indexes of the values that follow picks of many values, in any order.
func (c *curve) indexes() []int {
	var all []int
	for _, p := range c.points {
		all = append(all, p.k, p.k+1)
	}
	return all
}

// follow takes the next sorted values.
func follow[T int64 | float64](c *curve, x []T) {
	if c.few != nil {
		for _, v := range x {
			c.few = append(c.few, float64(v))
		}
		return
	}
	for ; c.below < len(c.points); c.below++ {
		p := &c.points[c.below]
		if p.k-c.passed >= len(x) {
			break
		}
		p.at = float64(x[p.k-c.passed])
	}
	for ; c.above < len(c.points); c.above++ {
		p := &c.points[c.above]
		if p.f == 0 {
			continue // the last value has none above
		}
		if p.k+1-c.passed >= len(x) {
			break
		}
		p.next = float64(x[p.k+1-c.passed])
	}
	c.passed += len(x)
}

// finish returns the Curve when all values have passed; nil if none is wanted.
func (c *curve) finish() Curve {
	if c.points == nil {
		return c.few
	}
	all := make(Curve, len(c.points))
	for i, p := range c.points {
		if all[i] = p.at; p.f != 0 {
			all[i] = stat.Between(p.at, p.next, p.f)
		}
	}
	return all
}
