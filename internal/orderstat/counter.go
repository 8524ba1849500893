package orderstat

import (
	"math"

	"github.com/pa-tools/pa/internal/quantile"
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

// An AddFunc receives numbers, none of which is NaN, and the weight of each number: how often it counts, from 0. If
// weights is nil, each number counts once.
type AddFunc func(values []float64, weights []int32)

// A Counter counts numbers in ranges. The zero value is ready for use. It is for one goroutine.
type Counter struct {
	n int
	// octaves holds the count of each range, in ascending order. The numbers of an octave have the same sign and
	// exponent, so they are within a factor of two. An octave without numbers is nil. While Pick runs, a range
	// holds 1 + its index in picker.slots instead of its count, or 0 if it has no slot.
	octaves [1 << exponentBits]*[1 << rangeBits]int
}

// Len returns the sum of the weights of all numbers.
func (c *Counter) Len() int { return c.n }

// order maps v to an integer, so that integers are in the order of their floats.
func order(v float64) uint64 {
	b := math.Float64bits(v) // as quantile.Key(v) ^ 1<<63, in fewer instructions
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// number is the inverse of order.
func number(order uint64) float64 { return quantile.Float(int64(order ^ 1<<63)) }

// Add counts numbers. It is an AddFunc.
func (c *Counter) Add(values []float64, weights []int32) {
	if weights == nil {
		c.n += len(values)
		for _, v := range values {
			k := order(v)
			o := c.octaves[k>>(64-exponentBits)]
			if o == nil {
				o = c.newOctave(k)
			}
			o[k>>rangeShift%(1<<rangeBits)]++
		}
		return
	}
	for i, v := range values {
		k, w := order(v), int(weights[i])
		o := c.octaves[k>>(64-exponentBits)]
		if o == nil {
			o = c.newOctave(k)
		}
		o[k>>rangeShift%(1<<rangeBits)] += w
		c.n += w
	}
}

// newOctave adds the octave of a number with the given order, without counts.
func (c *Counter) newOctave(order uint64) *[1 << rangeBits]int {
	o := new([1 << rangeBits]int)
	c.octaves[order>>(64-exponentBits)] = o
	return o
}

// Pick returns the numbers at the indexes in ascending order: index 0 is the least number. The indexes are in
// ascending order, from 0 and below Len. replay passes all numbers of Add to the AddFunc, in any order. Pick
// returns the error of replay. The Counter must not be used after Pick.
func (c *Counter) Pick(indexes []int, replay func(AddFunc) error) ([]float64, error) {
	p := picker{counter: c, indexes: indexes, picked: make([]float64, len(indexes))}
	p.begin()
	for len(p.open) > 0 {
		total := 0
		for _, s := range p.open {
			total += s.n
		}
		if total <= min(mostCollected, max(c.n/collectedShare, leastCollected)) {
			return p.picked, p.collect(total, replay)
		}
		if err := p.split(replay); err != nil {
			return nil, err
		}
	}
	return p.picked, nil
}

// A picker is the state of a Pick.
type picker struct {
	counter *Counter
	indexes []int
	picked  []float64 // by index
	open    []span    // ascending
	shift   int       // all numbers of a span have the same order>>shift
	slots   [][]span  // the open spans of each range with an index; parts of open
}

// A span is a range of numbers that contains wanted numbers.
type span struct {
	prefix   uint64 // order>>shift of its numbers
	before   int    // numbers below the span
	n        int
	from, to int // places in picker.indexes of the wanted numbers
	slot     int // from 0

	least, most uint64 // order of its numbers
	counts      []int  // by the next bits; while the span is divided
}

// begin opens the ranges of Add that contain wanted numbers. It replaces all counts by slots.
func (p *picker) begin() {
	p.shift = rangeShift
	before, at := 0, 0
	for high, o := range p.counter.octaves {
		if o == nil {
			continue
		}
		for low, n := range o {
			o[low] = 0
			from := at
			for at < len(p.indexes) && p.indexes[at] < before+n {
				at++
			}
			if at > from {
				s := span{prefix: uint64(high)<<rangeBits | uint64(low), before: before, n: n, from: from, to: at, slot: len(p.open)}
				p.open = append(p.open, s)
				o[low] = len(p.open)
			}
			before += n
		}
	}
	p.setSlots(len(p.open))
}

// setSlots sets the spans of n slots.
func (p *picker) setSlots(n int) {
	p.slots = make([][]span, n)
	for i := 0; i < len(p.open); {
		slot, from := p.open[i].slot, i
		for i < len(p.open) && p.open[i].slot == slot {
			i++
		}
		p.slots[slot] = p.open[from:i]
	}
}

// slot returns the slot of a number, from 1; 0 if the number is in no open span.
func (c *Counter) slot(order uint64) int {
	return c.octaves[order>>(64-exponentBits)][order>>rangeShift%(1<<rangeBits)]
}

// find returns the open span of a number in a slot; nil if there is none.
func (p *picker) find(slot int, order uint64) *span {
	spans := p.slots[slot-1]
	for i := range spans {
		if order>>p.shift == spans[i].prefix {
			return &spans[i]
		}
	}
	return nil
}

// collect collects and sorts the numbers of the open spans, total in all, and picks the wanted numbers.
func (p *picker) collect(total int, replay func(AddFunc) error) error {
	all := make([]int64, 0, total)
	err := replay(func(values []float64, weights []int32) {
		for i, v := range values {
			k := order(v)
			slot := p.counter.slot(k)
			if slot == 0 || p.find(slot, k) == nil {
				continue
			}
			w := int32(1)
			if weights != nil {
				w = weights[i]
			}
			for range w {
				all = append(all, quantile.Key(v))
			}
		}
	})
	if err != nil {
		return err
	}
	quantile.SortWith(all, nil)
	earlier := 0 // numbers of the earlier spans
	for _, s := range p.open {
		for i := s.from; i < s.to; i++ {
			p.picked[i] = quantile.Float(all[earlier+p.indexes[i]-s.before])
		}
		earlier += s.n
	}
	return nil
}

// split divides the open spans by their next bits, and leaves open the parts with wanted numbers. A span of
// equal numbers is done.
func (p *picker) split(replay func(AddFunc) error) error {
	next := max(p.shift-splitBits, 0)
	for i := range p.open {
		s := &p.open[i]
		s.least, s.counts = ^uint64(0), make([]int, 1<<(p.shift-next))
	}
	err := replay(func(values []float64, weights []int32) {
		for i, v := range values {
			k := order(v)
			slot := p.counter.slot(k)
			if slot == 0 {
				continue
			}
			s := p.find(slot, k)
			if s == nil {
				continue
			}
			w := 1
			if weights != nil {
				if w = int(weights[i]); w == 0 {
					continue
				}
			}
			s.least, s.most = min(s.least, k), max(s.most, k)
			s.counts[k>>next%(1<<(p.shift-next))] += w
		}
	})
	if err != nil {
		return err
	}
	var open []span
	for i := range p.open {
		open = p.parts(open, &p.open[i], next)
	}
	p.open, p.shift = open, next
	p.setSlots(len(p.slots))
	return nil
}

// parts appends the parts of a divided span that contain wanted numbers to open. If all numbers of a part are known
// to be equal, it picks them at once instead.
func (p *picker) parts(open []span, s *span, next int) []span {
	before, from := s.before, s.from
	for low, n := range s.counts {
		to := from
		for to < s.to && p.indexes[to] < before+n {
			to++
		}
		if to > from {
			part := span{prefix: s.prefix<<(p.shift-next) | uint64(low), before: before, n: n, from: from, to: to, slot: s.slot}
			if known := max(s.least, part.prefix<<next); s.least == s.most || next == 0 {
				for i := from; i < to; i++ {
					p.picked[i] = number(known)
				}
			} else {
				open = append(open, part)
			}
		}
		before, from = before+n, to
	}
	return open
}
