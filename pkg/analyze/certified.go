package analyze

import (
	"sync"

	"github.com/pa-tools/pa/internal/earlystop"
)

// CertifiedLevels are the percentiles of [Summary.Certified], in percent and in order.
var CertifiedLevels = [...]float64{50, 75, 80, 90, 95, 97, 99, 99.9}

// A Certified is a percentile by MLPerf's early stopping: at a confidence of 99 %, the true
// percentile is not above Value, if the values are independent. It is one of the values and never
// below the plain percentile. See package earlystop for the formula.
type Certified struct {
	Level float64 // in percent
	Value float64
	// OK is false if the values are too few: fewer than Least.
	OK    bool
	Least int
}

// A certificate picks certified percentiles from n sorted values that pass by.
type certificate struct {
	all    *[len(CertifiedLevels)]Certified // nil: none are wanted
	index  [len(CertifiedLevels)]int        // of the value of each percentile; −1 for none
	passed int
}

// floors returns the smallest number of values that certifies each of CertifiedLevels.
var floors = sync.OnceValue(func() (all [len(CertifiedLevels)]int) {
	for i, level := range CertifiedLevels {
		all[i] = earlystop.Floor(level / 100)
	}
	return all
})

func certificateOf(n int) certificate {
	c := certificate{all: &[len(CertifiedLevels)]Certified{}}
	for i, level := range CertifiedLevels {
		least, index := floors()[i], -1
		if n >= least {
			index = n - earlystop.Budget(n, level/100)
		}
		c.all[i] = Certified{Level: level, OK: n >= least, Least: least}
		c.index[i] = index
	}
	return c
}

// indexes returns the indexes of the values that certify picks, in any order; −1 for none.
func (c *certificate) indexes() []int { return c.index[:] }

// certify takes the next sorted values.
func certify[T int64 | float64](c *certificate, x []T) {
	if c.all == nil {
		return
	}
	for i, at := range c.index {
		if at -= c.passed; at >= 0 && at < len(x) {
			c.all[i].Value = float64(x[at])
		}
	}
	c.passed += len(x)
}
