package aiperf

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// digit is the number of bits of each of the two digits of a percentile that the first pass
// finds.
const digit = 12

// weighted computes the statistics of a step metric, weighted by how long each value
// held.
//
// The values are too many to keep. Two passes find a percentile by the bits of the
// numbers, whose order is the order of the values: the first pass finds its first 24 bits,
// and the second finds the value among the values with the same 24 bits.
type weighted struct {
	stepMetric
	dependsOn uint // bit set of the sums that decide the value

	// The current value, and since when it holds.
	since, value float64
	on           bool

	ns, sum, squares float64 // Σ ns, Σ value·ns, Σ (value − mean)²·ns
	min, max         float64
	coarse           []float64   // ns by the first digit of the value
	fine             [][]float64 // ns by the first and the second digit; nil without such values
	targets          [len(dialect.Percentiles)]target
	near             map[uint64]map[float64]float64 // ns by value, for both digits of percentiles
}

// A target holds what is known of a percentile: its first bits, and how long values with
// smaller first bits held.
type target struct {
	bits  uint64
	below float64
}

// A pass is one pass over all steps.
type pass int

const (
	firstPass pass = iota
	lastPass
)

// touched reports whether the current value ends with a change of the sums in the bit
// set.
func (l *weighted) touched(changed uint) bool { return changed&l.dependsOn != 0 }

// read sets the current value. Sums below the least are 0.
func (l *weighted) read(now, least *[sums]float64) {
	level := func(of quantity) float64 {
		if x := now[of]; math.Abs(x) >= least[of] {
			return x
		}
		return 0
	}
	l.value = level(l.of)
	if l.per < sums {
		if by := level(l.per); by > 0 {
			l.value /= by
		} else {
			l.value = 0
		}
	}
	if l.active < sums {
		l.on = level(l.active) > 0
	}
}

// ordered returns bits of x whose order as integers is the order of the numbers.
func ordered(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// hold adds a value that held for ns nanoseconds.
func (l *weighted) hold(p pass, value, ns float64) {
	bits := ordered(value)
	switch p {
	case firstPass:
		if l.coarse == nil {
			l.coarse, l.fine, l.min, l.max = make([]float64, 1<<digit), make([][]float64, 1<<digit), value, value
		}
		l.ns += ns
		l.sum += float64(value * ns)
		l.min, l.max = min(l.min, value), max(l.max, value)
		first := bits >> (64 - digit)
		l.coarse[first] += ns
		if l.fine[first] == nil {
			l.fine[first] = make([]float64, 1<<digit)
		}
		l.fine[first][bits>>(64-2*digit)&(1<<digit-1)] += ns
	case lastPass:
		if l.near == nil {
			l.findDigits()
		}
		mean := l.sum / l.ns
		l.squares += float64((value - mean) * (value - mean) * ns)
		if values, ok := l.near[bits>>(64-2*digit)]; ok {
			values[value] += ns
		}
	}
}

// find returns the first index at which below and the weights up to it reach the
// percentile's share of all time, and the sum before that index. Weights are whole
// nanoseconds, so their sums are exact.
func (l *weighted) find(weights []float64, below float64, pct int) (int, float64) {
	last := 0
	for i, ns := range weights {
		if ns == 0 {
			continue
		}
		last = i
		if (below+ns)/l.ns >= float64(pct)/100 {
			return i, below
		}
		below += ns
	}
	return last, below - weights[last]
}

// findDigits finds both digits of each percentile after the first pass.
func (l *weighted) findDigits() {
	l.near = map[uint64]map[float64]float64{}
	for i, pct := range dialect.Percentiles {
		if slices.Contains(stepPercentiles, pct) {
			first, below := l.find(l.coarse, 0, pct)
			second, below := l.find(l.fine[first], below, pct)
			t := target{uint64(first)<<digit | uint64(second), below}
			l.targets[i] = t
			l.near[t.bits] = map[float64]float64{}
		}
	}
	l.fine, l.coarse = nil, nil
}

// metric returns the statistics after the last pass. A percentile is the smallest value
// that is not exceeded for that share of the time. All statistics are 0 if no time
// counts, for example because the active sum was always 0.
func (l *weighted) metric() metric {
	m := none(l.tag)
	scale := 1.0
	if l.of == prefill || l.of == decode || l.of == total {
		scale = 1e9 // tokens per second
	}
	m.Avg, m.Std, m.Min, m.Max = 0, 0, 0, 0
	if l.ns > 0 {
		m.Avg, m.Std, m.Min, m.Max = l.sum/l.ns*scale, math.Sqrt(l.squares/l.ns)*scale, l.min*scale, l.max*scale
	}
	for i, pct := range dialect.Percentiles {
		if !slices.Contains(stepPercentiles, pct) {
			continue
		}
		m.Pct[i] = 0
		if l.ns == 0 {
			continue
		}
		t := l.targets[i]
		values := make([]float64, 0, len(l.near[t.bits]))
		for v := range l.near[t.bits] {
			values = append(values, v)
		}
		slices.SortFunc(values, cmp.Compare[float64])
		weights := make([]float64, len(values))
		for k, v := range values {
			weights[k] = l.near[t.bits][v]
		}
		at, _ := l.find(weights, t.below, pct)
		m.Pct[i] = values[at] * scale
	}
	return m
}
