package analyze

import "github.com/pa-tools/pa/internal/quantile"

// A curve picks the percentiles at ascending levels from n sorted values that pass by.
type curve struct {
	points []curvePoint
	// lower and upper are the first points that lack the value below and the value above.
	lower, upper, passed int
}

// A curvePoint is a percentile between the values k and k+1, a fraction of the way f from the first.
type curvePoint struct {
	k            int
	f            float64
	below, above float64
}

func curveOf(n int, levels []float64) curve {
	c := curve{points: make([]curvePoint, len(levels))}
	for i, level := range levels {
		c.points[i].k, c.points[i].f = quantile.Position(n, level/100)
	}
	return c
}

// follow takes the next sorted values.
func follow[T int64 | float64](c *curve, x []T) {
	for ; c.lower < len(c.points); c.lower++ {
		p := &c.points[c.lower]
		if p.k-c.passed >= len(x) {
			break
		}
		p.below = float64(x[p.k-c.passed])
	}
	for ; c.upper < len(c.points); c.upper++ {
		p := &c.points[c.upper]
		if p.f == 0 {
			continue // and the last value has none above
		}
		if p.k+1-c.passed >= len(x) {
			break
		}
		p.above = float64(x[p.k+1-c.passed])
	}
	c.passed += len(x)
}

// values returns the percentiles when all values have passed; nil if none are wanted.
func (c *curve) values() []float64 {
	if len(c.points) == 0 {
		return nil
	}
	all := make([]float64, len(c.points))
	for i, p := range c.points {
		if all[i] = p.below; p.f != 0 {
			all[i] = quantile.Between(p.below, p.above, p.f)
		}
	}
	return all
}
