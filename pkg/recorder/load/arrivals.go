package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Arrivals is the distribution of the gaps between the requests of a Rate.
type Arrivals uint8

// The distributions of --request-distribution.
const (
	// Constant has equal gaps.
	Constant Arrivals = iota
	// Poisson has exponentially distributed gaps, as many independent users produce.
	Poisson
	// Gamma has gamma distributed gaps, see Rate.Burstiness.
	Gamma
)

// distributions says of each Arrivals its name, and how to draw its gaps.
var distributions = [...]struct {
	name string
	// gaps returns the function that draws gaps of mean 1; nil if all gaps are equal.
	gaps func(r Rate) func(*rand.Rand) float64
}{
	Constant: {"constant", nil},
	Poisson:  {"poisson", func(Rate) func(*rand.Rand) float64 { return exponential }},
	Gamma:    {"gamma", func(r Rate) func(*rand.Rand) float64 { return gamma(r.shape()) }},
}

// Distributions lists the names of all Arrivals, for messages: "constant, poisson or gamma".
func Distributions() string { return listed("or", func(Arrivals) bool { return true }) }

// Drawn lists the names of the Arrivals whose gaps are drawn, with the conjunction before the last:
// "poisson or gamma".
func Drawn(conjunction string) string {
	return listed(conjunction, func(a Arrivals) bool { return distributions[a].gaps != nil })
}

// listed lists the names of the chosen Arrivals, with the conjunction before the last.
func listed(conjunction string, chosen func(Arrivals) bool) string {
	var names []string
	for a := range Arrivals(len(distributions)) {
		if chosen(a) {
			names = append(names, a.String())
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// String returns the name for --request-distribution: "constant".
func (a Arrivals) String() string {
	if int(a) < len(distributions) {
		return distributions[a].name
	}
	return fmt.Sprintf("Arrivals(%d)", uint8(a))
}

// ParseArrivals is the inverse of String.
func ParseArrivals(name string) (Arrivals, error) {
	for i, d := range distributions {
		if d.name == name {
			return Arrivals(i), nil
		}
	}
	return Constant, fmt.Errorf("unknown distribution %q; expected %s", name, Distributions())
}

// exponential draws the gaps of a Poisson process: P(gap > x) = e^−x.
func exponential(r *rand.Rand) float64 { return r.ExpFloat64() }

// gamma returns a function that draws from the gamma distribution with this shape and mean
// 1. The coefficient of variation is 1/√shape: bursts below 1, the exponential
// distribution at 1, more even gaps above.
//
// gamma uses the method of Marsaglia and Tsang ("A Simple Method for Generating Gamma
// Variables", 2000): with d = a − 1/3 and c = 1/√(9d), it draws d·(1 + c·x)³ for a normal
// x and accepts it by the ratio of the densities; for a < 1 it draws gamma(a+1)·U^(1/a).
func gamma(shape float64) func(*rand.Rand) float64 {
	a := shape
	if shape < 1 {
		a++
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	return func(r *rand.Rand) float64 {
		g := 0.0
		for {
			x := r.NormFloat64()
			v := 1 + c*x
			if v <= 0 {
				continue
			}
			v = v * v * v
			if u := 1 - r.Float64(); math.Log(u) < x*x/2+d*(1-v+math.Log(v)) {
				g = d * v
				break
			}
		}
		if shape < 1 {
			g *= math.Pow(1-r.Float64(), 1/shape)
		}
		return g / shape
	}
}
