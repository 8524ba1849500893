package extsort

import (
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/pa-tools/pa/internal/quantile"
)

const (
	leastPick = 1 << 16 // values from which counting is faster than sorting
	mostPick  = 4       // no more than 1/mostPick of the values are collected
	mostParts = 8       // cores that count; each takes 660 kB

	// mostCollected values, and as much memory again to sort them, take 16 MiB where memory is bounded.
	mostCollected = 1 << 21
)

// Pick returns the values at the indexes in ascending order: index 0 is the least value. The
// indexes are in ascending order, from 0 and below Len. Many values are counted in
// ranges, and only the ranges with an index are sorted. An error means that the temporary file
// could not be read.
func (s *Sorter) Pick(indexes []int) ([]int64, error) {
	if values, ok, err := s.pickCounted(indexes); ok || err != nil {
		return values, err
	}
	values := make([]int64, 0, len(indexes))
	passed := 0
	err := s.Sorted(func(block []int64) {
		for len(values) < len(indexes) && indexes[len(values)]-passed < len(block) {
			values = append(values, block[indexes[len(values)]-passed])
		}
		passed += len(block)
	})
	return values, err
}

// pickCounted is Pick for many narrow values in the order of Add. ok is false for other values, and if the ranges
// with an index hold too many values: Pick then sorts.
func (s *Sorter) pickCounted(indexes []int) (values []int64, ok bool, err error) {
	if s.wide || s.sorted && len(s.stored) > 0 || s.n < leastPick || uint64(s.n) > math.MaxUint32 { // more than the counters count
		return nil, false, nil
	}
	parts := s.pickParts()
	if err := eachPart(parts, (*pickPart).count); err != nil {
		return nil, false, err
	}
	counts, wanted := new([ranges]uint32), new([ranges]bool) // large for a stack
	for _, p := range parts {
		for r, n := range p.counts {
			counts[r] += n
		}
	}

	places := make([]int, 0, len(indexes)) // places of the values among the collected values
	passed, collected := 0, 0              // values of the earlier ranges
	for r, n := range counts {
		for len(places) < len(indexes) && indexes[len(places)] < passed+int(n) {
			wanted[r] = true
			places = append(places, collected+indexes[len(places)]-passed)
		}
		passed += int(n)
		if wanted[r] {
			collected += int(n)
		}
	}
	if collected > s.n/mostPick || s.memory.max > 0 && collected > mostCollected {
		return nil, false, nil
	}
	all := make([]uint32, collected)
	room := all
	for i := range parts {
		n := parts[i].wanted(wanted)
		parts[i].collected, room = room[:0:n], room[n:]
	}
	if err := eachPart(parts, func(p *pickPart) error { return p.collect(wanted) }); err != nil {
		return nil, false, err
	}
	s.memory.narrow = quantile.SortWith(all, s.memory.narrow)
	for _, at := range places {
		values = append(values, int64(all[at]))
	}
	return values, true, nil
}

// A pickPart is a part of the values, for one core.
type pickPart struct {
	memory    *Memory
	stored    []storedRun
	values    [][]uint32      // in memory
	counts    *[ranges]uint32 // of the values in each range
	collected []uint32        // from the wanted ranges; has the capacity
}

// pickParts shares the runs among the cores.
func (s *Sorter) pickParts() []pickPart {
	parts := make([]pickPart, min(runtime.GOMAXPROCS(0), mostParts))
	for i := range parts {
		parts[i].memory, parts[i].counts = s.memory, new([ranges]uint32)
	}
	for _, r := range append(slices.Clip(s.runs), s.last) {
		for i := range parts {
			n := len(r.narrow)
			parts[i].values = append(parts[i].values, r.narrow[i*n/len(parts):(i+1)*n/len(parts)])
		}
	}
	for _, r := range s.stored {
		n := r.n
		for i := range parts {
			var part storedRun
			part, r = r.split((i+1)*n/len(parts) - i*n/len(parts))
			parts[i].stored = append(parts[i].stored, part)
		}
	}
	return parts
}

// each calls f with all values of the part, many at a time.
func (p *pickPart) each(f func(values []uint32)) error {
	for _, values := range p.values {
		f(values)
	}
	var buffer rawBuffer
	for _, rest := range p.stored {
		for rest.n > 0 {
			var next storedRun
			next, rest = rest.split(int(readBytes / rawNarrow))
			if err := p.memory.readRaw(next, &buffer); err != nil {
				return err
			}
			f(buffer.values.narrow)
		}
	}
	return nil
}

func (p *pickPart) count() error {
	return p.each(func(values []uint32) {
		for _, v := range values {
			p.counts[rangeOf(v)]++
		}
	})
}

// wanted returns the number of values in the wanted ranges.
func (p *pickPart) wanted(wanted *[ranges]bool) int {
	n := 0
	for r, is := range wanted {
		if is {
			n += int(p.counts[r])
		}
	}
	return n
}

func (p *pickPart) collect(wanted *[ranges]bool) error {
	return p.each(func(values []uint32) {
		for _, v := range values {
			if wanted[rangeOf(v)] {
				p.collected = append(p.collected, v)
			}
		}
	})
}

// eachPart calls f for all parts at once.
func eachPart(parts []pickPart, f func(*pickPart) error) error {
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i := range parts {
		running.Go(func() { errs[i] = f(&parts[i]) })
	}
	running.Wait()
	return errors.Join(errs...)
}

const (
	rangeBits = 13
	ranges    = (32-rangeBits-1)<<rangeBits + 2<<rangeBits
)

// rangeOf returns the range of v. Ranges are in the order of their values. Each small value has a
// range of its own. The width of the other ranges is at most 1/8192 of their values, so that one
// outlier does not put all other values into one range.
func rangeOf(v uint32) uint32 {
	shift := uint32(max(bits.Len32(v)-rangeBits-1, 0))
	return shift<<rangeBits + v>>shift
}
