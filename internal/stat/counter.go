package stat

import (
	"errors"
	"math"
	"math/bits"
	"slices"
)

const (
	exponentBits = 12 // sign and exponent of a float64
	rangeBits    = 13 // next bits of a float64: the range of Add within an octave
	rangeShift   = 64 - exponentBits - rangeBits
	splitBits    = 12 // bits by which Pick divides a range at a time

	// Pick collects at most mostCollected numbers, and usually no more than 1/collectedShare of all: a
	// further pass is faster than sorting them.
	mostCollected  = 1 << 20
	leastCollected = 1 << 14
	collectedShare = 8
)

// A Counter finds order statistics: the numbers at given places in ascending order. It neither sorts nor keeps all
// numbers. Its caller passes them once to Add, and again whenever Pick asks (radix selection).
//
//	var c stat.Counter[float64]
//	c.Add([]float64{3, 1, 2}, nil)
//	low, err := c.Pick([]int{0}, func(add stat.AddFunc[float64]) error { // 1
//		add([]float64{3, 1, 2}, nil)
//		return nil
//	})
//
// Add counts numbers in ranges. The width of a range is at most 1/8192 of its numbers, unless they are subnormal,
// so that one outlier does not put all other numbers into one range. Pick asks for the numbers again, and collects
// and sorts the numbers of the ranges that contain a wanted place. If these numbers are many, Pick first divides
// the ranges, with one more pass for each division. So memory does not grow with the number of numbers: the counts
// of numbers within a factor of two take 64 kB, and a Pick takes up to 20 MiB.
//
// The zero value is ready for use. A Counter is for one goroutine.
type Counter[T int64 | float64] struct {
	n int
	// octaves holds the count of each range, in ascending order. The numbers of an octave have the same sign and
	// exponent, so they are within a factor of two. An octave without numbers is nil. While Pick runs, a range
	// holds 1 + its index in picker.slots instead of its count, or 0 if it has no slot.
	octaves [1 << exponentBits]*[1 << rangeBits]int
}

// An AddFunc receives numbers and their weights. No number is NaN. A weight says how often its number counts: 0 times
// or more. If weights is nil, each number counts once.
type AddFunc[T int64 | float64] func(values []T, weights []int32)

// A Replay passes all numbers, or a part of them, to an AddFunc, in any order.
type Replay[T int64 | float64] func(AddFunc[T]) error

// Len returns the sum of the weights of all numbers.
func (c *Counter[T]) Len() int { return c.n }

// order maps v to an integer, so that integers are in the order of their floats.
func order(v float64) uint64 {
	b := math.Float64bits(v) // as Key(v) ^ 1<<63, in fewer instructions
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// keyOf returns an integer that is among the keys of other numbers as v is among the numbers.
func keyOf[T int64 | float64](v T) uint64 {
	if v, ok := any(v).(float64); ok {
		return order(v)
	}
	return uint64(v) ^ 1<<63
}

// ofKey is the inverse of keyOf.
func ofKey[T int64 | float64](key uint64) T {
	v := int64(key ^ 1<<63)
	if _, ok := any(T(0)).(float64); ok {
		return T(FromKey(v))
	}
	return T(v)
}

// keysOf returns bounds of the keys of the numbers in range r. The first range is 0.
func keysOf[T int64 | float64](r uint64) (low, high uint64) {
	low, high = r<<rangeShift, (r+1)<<rangeShift-1
	if _, ok := any(T(0)).(float64); ok {
		return low, high
	}
	const rounding = 1 << 10 // more than the distance of an integer from the nearest float64, and than int64 cuts off
	return keyOf(SaturatingAdd(clipped(ofKey[float64](low)), -rounding)), keyOf(SaturatingAdd(clipped(ofKey[float64](high)), rounding))
}

// clipped returns v without its fraction, or the int64 nearest to it.
func clipped(v float64) int64 {
	switch {
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}

// Add counts numbers. It is an AddFunc. An integer belongs to the range of the nearest float64.
func (c *Counter[T]) Add(values []T, weights []int32) {
	if weights == nil {
		c.n += len(values)
		for _, v := range values {
			k := order(float64(v))
			o := c.octaves[k>>(64-exponentBits)]
			if o == nil {
				o = c.newOctave(k)
			}
			o[k>>rangeShift%(1<<rangeBits)]++
		}
		return
	}
	for i, v := range values {
		k, w := order(float64(v)), int(weights[i])
		o := c.octaves[k>>(64-exponentBits)]
		if o == nil {
			o = c.newOctave(k)
		}
		o[k>>rangeShift%(1<<rangeBits)] += w
		c.n += w
	}
}

// newOctave adds the octave of a number with the given order, without counts.
func (c *Counter[T]) newOctave(order uint64) *[1 << rangeBits]int {
	o := new([1 << rangeBits]int)
	c.octaves[order>>(64-exponentBits)] = o
	return o
}

// merge adds the counts of another Counter, which must not be used any more.
func (c *Counter[T]) merge(other *Counter[T]) {
	c.n += other.n
	for i, from := range other.octaves {
		switch to := c.octaves[i]; {
		case from == nil:
		case to == nil:
			c.octaves[i] = from
		default:
			for r, n := range from {
				to[r] += n
			}
		}
	}
}

// Pick returns the numbers at the indexes in ascending order: index 0 is the least number. The indexes are in
// ascending order, from 0 and below Len. The parts together pass all numbers of Add on, and may run at the same
// time. Pick returns their errors. The Counter must not be used after Pick.
func (c *Counter[T]) Pick(indexes []int, parts ...Replay[T]) ([]T, error) {
	p := picker[T]{counter: c, parts: parts, indexes: indexes, picked: make([]T, len(indexes))}
	p.begin()
	for len(p.open) > 0 {
		total := 0
		for _, s := range p.open {
			total += s.n
		}
		if total <= min(mostCollected, max(c.n/collectedShare, leastCollected)) {
			return p.picked, p.collect(total)
		}
		if err := p.split(); err != nil {
			return nil, err
		}
	}
	return p.picked, nil
}

// A picker is the state of a Pick.
type picker[T int64 | float64] struct {
	counter *Counter[T]
	parts   []Replay[T]
	indexes []int
	picked  []T         // by index
	open    []span[T]   // ascending
	slots   [][]span[T] // the open spans of each range with an index; parts of open
	divided bool        // the open spans are parts of ranges
}

// A span is an interval of numbers that contains wanted numbers.
type span[T int64 | float64] struct {
	low, high uint64 // bounds of the keys of its numbers; see keyOf
	before    int    // numbers below the span
	n         int
	from, to  int // places in picker.indexes of the wanted numbers
	slot      int // from 0

	// While the span is divided:
	shift       int   // a part has 1<<shift keys
	counts      []int // of the parts
	least, most uint64
}

// begin opens the ranges of Add that contain wanted numbers. It replaces all counts by slots.
func (p *picker[T]) begin() {
	before, at := 0, 0
	for octave, o := range p.counter.octaves {
		if o == nil {
			continue
		}
		for r, n := range o {
			o[r] = 0
			from := at
			for at < len(p.indexes) && p.indexes[at] < before+n {
				at++
			}
			if at > from {
				s := span[T]{before: before, n: n, from: from, to: at, slot: len(p.open)}
				s.low, s.high = keysOf[T](uint64(octave)<<rangeBits | uint64(r))
				p.open = append(p.open, s)
				o[r] = len(p.open)
			}
			before += n
		}
	}
	p.setSlots(len(p.open))
}

// setSlots sets the spans of n slots.
func (p *picker[T]) setSlots(n int) {
	p.slots = make([][]span[T], n)
	for i := 0; i < len(p.open); {
		slot, from := p.open[i].slot, i
		for i < len(p.open) && p.open[i].slot == slot {
			i++
		}
		p.slots[slot] = p.open[from:i]
	}
}

// slot returns the slot of a number, from 1; 0 if the number is in no range with an index.
func (c *Counter[T]) slot(v T) int {
	k := order(float64(v))
	return c.octaves[k>>(64-exponentBits)][k>>rangeShift%(1<<rangeBits)]
}

// find returns the open span of a number in a slot; nil if there is none.
func (p *picker[T]) find(slot int, v T) *span[T] {
	spans := p.slots[slot-1]
	if !p.divided {
		return &spans[0]
	}
	key := keyOf(v)
	for i := range spans {
		if s := &spans[i]; s.low <= key && key <= s.high {
			return s
		}
	}
	return nil
}

// collect collects and sorts the numbers of the open spans, total in all, and picks the wanted numbers.
func (p *picker[T]) collect(total int) error {
	found, errs := make([][]T, len(p.parts)), make([]error, len(p.parts))
	inParallel(len(p.parts), func(part int) {
		some := make([]T, 0, total/len(p.parts))
		errs[part] = p.parts[part](func(values []T, weights []int32) {
			for i, v := range values {
				slot := p.counter.slot(v)
				if slot == 0 || p.find(slot, v) == nil {
					continue
				}
				w := int32(1)
				if weights != nil {
					w = weights[i]
				}
				for range w {
					some = append(some, v)
				}
			}
		})
		found[part] = some
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	all := slices.Concat(found...)
	if len(all) < total {
		return errors.New("pick order statistics: numbers are missing that were counted")
	}
	Sort(all)
	earlier := 0 // numbers of the earlier spans
	for _, s := range p.open {
		for i := s.from; i < s.to; i++ {
			p.picked[i] = all[earlier+p.indexes[i]-s.before]
		}
		earlier += s.n
	}
	return nil
}

// split divides the open spans, and leaves open the parts with wanted numbers. A span of equal numbers is done.
func (p *picker[T]) split() error {
	for i := range p.open {
		s := &p.open[i]
		s.shift = max(bits.Len64(s.high-s.low)-splitBits, 0)
		s.counts, s.least = make([]int, (s.high-s.low)>>s.shift+1), math.MaxUint64
	}
	for _, part := range p.parts { // in turn, because they share the counts
		err := part(func(values []T, weights []int32) {
			for i, v := range values {
				slot := p.counter.slot(v)
				if slot == 0 {
					continue
				}
				s := p.find(slot, v)
				if s == nil {
					continue
				}
				w := 1
				if weights != nil {
					if w = int(weights[i]); w == 0 {
						continue
					}
				}
				k := keyOf(v)
				s.least, s.most = min(s.least, k), max(s.most, k)
				s.counts[(k-s.low)>>s.shift] += w
			}
		})
		if err != nil {
			return err
		}
	}
	var open []span[T]
	for i := range p.open {
		open = p.partsOf(open, &p.open[i])
	}
	p.open, p.divided = open, true
	p.setSlots(len(p.slots))
	return nil
}

// partsOf appends the parts of a divided span that contain wanted numbers to open. If all numbers of a part are known
// to be equal, it picks them at once instead.
func (p *picker[T]) partsOf(open []span[T], s *span[T]) []span[T] {
	before, from := s.before, s.from
	for i, n := range s.counts {
		to := from
		for to < s.to && p.indexes[to] < before+n {
			to++
		}
		if to > from {
			part := span[T]{before: before, n: n, from: from, to: to, slot: s.slot}
			part.low = s.low + uint64(i)<<s.shift
			part.high = min(part.low+min(1<<s.shift-1, s.high-part.low), s.most) // the last part may end at the greatest key
			part.low = max(part.low, s.least)
			if part.low < part.high {
				open = append(open, part)
			}
			for at := from; at < to && part.low == part.high; at++ {
				p.picked[at] = ofKey[T](part.low)
			}
		}
		before, from = before+n, to
	}
	return open
}
