package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/pkg/export"
)

// tolerance is the relative difference up to which two figures are the same:
// tools add up in other orders than we do, which costs a few units in the last
// of 16 digits, and a difference of clock readings cancels some more.
const tolerance = 1e-9

// maxDifferences bounds how many differing figures are named.
const maxDifferences = 32

// A selfCheck compares a file's own figures with what its requests give.
type selfCheck struct {
	result    export.SelfCheck
	differing []difference
	file      string // that holds the next figures
	at        string // what they are about
}

type difference struct{ file, where, msg string }

// figure compares one figure. Two that are no numbers agree.
func (c *selfCheck) figure(name string, stored, made float64) {
	c.within(name, stored, made, tolerance)
}

// within compares with a tolerance of its own.
func (c *selfCheck) within(name string, stored, made, tolerance float64) {
	c.result.Compared++
	if stored == made || math.IsNaN(stored) && math.IsNaN(made) ||
		math.Abs(stored-made) <= tolerance*max(math.Abs(stored), math.Abs(made)) {
		return
	}
	c.result.Differing++
	if len(c.differing) < maxDifferences {
		c.differing = append(c.differing, difference{c.file, c.at, fmt.Sprintf("the file says %s is %s, its requests give %s", name, digits(stored), digits(made))})
	}
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// A sample is the values of one metric, in the unit of the tool.
type sample []float64

// mean is the sum divided by the number, NaN for none.
func (s sample) mean() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return s.sum() / float64(len(s))
}

// sum adds up so that only the rounding of the tool itself is seen.
func (s sample) sum() float64 {
	var t quantile.Sum
	for _, v := range s {
		t.Add(v)
	}
	return t.Value()
}

// std returns the deviation over the population. Unlike quantile.Std it loses no digits in
// the sum, because the tools sum in other orders.
func (s sample) std() float64 {
	m := s.mean()
	squares := make(sample, len(s))
	for i, v := range s {
		squares[i] = float64((v - m) * (v - m))
	}
	return math.Sqrt(squares.mean())
}

// percentile interpolates linearly, as numpy does. s has to be sorted.
func (s sample) percentile(pct float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return quantile.At(s, pct/100)
}

// sorted returns a sorted copy.
func (s sample) sorted() sample {
	c := slices.Clone(s)
	slices.Sort(c)
	return c
}
