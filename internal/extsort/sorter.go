package extsort

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
)

// A Sorter collects integers and passes them on in ascending order.
type Sorter struct {
	memory *Memory
	index  int // in memory.sorters; -1 after Release
	n      int
	last   run         // values in the order of Add
	wide   bool        // a value did not fit a uint32
	runs   []run       // in memory, before last and after stored; sorted when they are merged
	stored []storedRun // in the file
	sorted bool        // the order of Add is lost
}

// A run holds values in memory: either narrow ones, which take half the memory, or wide ones.
type run struct {
	narrow []uint32
	wide   []int64
	sorted bool
}

func (r *run) len() int { return len(r.narrow) + len(r.wide) }

func (r *run) cap() int { return cap(r.narrow) + cap(r.wide) }

// bytes returns the memory of the values.
func (r *run) bytes() int64 { return 4*int64(cap(r.narrow)) + 8*int64(cap(r.wide)) }

// at returns value i.
func (r *run) at(i int) int64 {
	if len(r.narrow) > 0 {
		return int64(r.narrow[i])
	}
	return r.wide[i]
}

// Len returns the number of values.
func (s *Sorter) Len() int { return s.n }

// Add adds values.
func (s *Sorter) Add(values ...int64) {
	s.n += len(values)
	for len(values) > 0 {
		if s.last.len() == s.last.cap() {
			s.grow()
		}
		k := min(len(values), s.last.cap()-s.last.len())
		if s.wide {
			s.last.wide = append(s.last.wide, values[:k]...)
		} else if k = s.addNarrow(values[:k]); k == 0 {
			s.widen()
		}
		values = values[k:]
	}
}

// addNarrow adds the first of values that are narrow. It returns their number.
func (s *Sorter) addNarrow(values []int64) int {
	to := s.last.narrow[:cap(s.last.narrow)][s.last.len():]
	n := 0
	for n < len(values) && n < len(to) && uint64(values[n]) <= math.MaxUint32 {
		to[n] = uint32(values[n])
		n++
	}
	s.last.narrow = s.last.narrow[:s.last.len()+n]
	return n
}

// widen makes room for values that are not narrow.
func (s *Sorter) widen() {
	s.wide = true
	s.memory.makeRoom(8 * int64(s.last.cap())) // may move the values to the file
	before := s.last
	s.last = run{}
	if len(before.narrow) > 0 {
		s.last.wide = make([]int64, 0, cap(before.narrow))
	}
	for _, v := range before.narrow {
		s.last.wide = append(s.last.wide, int64(v))
	}
	s.memory.used += s.last.bytes() - before.bytes()
}

// grow makes room for at least one value in s.last: more room, or a new run when the present
// one is full.
func (s *Sorter) grow() {
	m := s.memory
	most := m.mostRun()
	if s.last.len() >= most {
		s.endRun()
	}
	room := min(max(growth*s.last.cap(), firstRun), most)
	width := int64(4)
	if s.wide {
		width = 8
	}
	m.makeRoom(width * int64(room)) // the old room stays until its values are copied
	before := s.last.bytes()
	if s.wide {
		s.last.wide = append(make([]int64, 0, room), s.last.wide...)
	} else {
		s.last.narrow = append(make([]uint32, 0, room), s.last.narrow...)
	}
	m.used += s.last.bytes() - before
}

// endRun makes a run of the values of s.last.
func (s *Sorter) endRun() {
	if s.last.len() == 0 {
		return
	}
	s.runs = append(s.runs, s.last)
	s.last = run{}
}

// sort sorts the values of a run.
func (m *Memory) sort(r *run) {
	if r.sorted {
		return
	}
	m.scratch = quantile.SortWith(r.wide, m.scratch)
	m.narrow = quantile.SortWith(r.narrow, m.narrow)
	r.sorted = true
}

// bytes returns the memory of the values.
func (s *Sorter) bytes() int64 {
	n := s.last.bytes()
	for i := range s.runs {
		n += s.runs[i].bytes()
	}
	return n
}

// spill moves all runs to the file, in their order. After an error, the runs that are not in the file
// stay in memory.
func (s *Sorter) spill() error {
	s.endRun()
	for len(s.runs) > 0 {
		r := s.runs[0]
		stored, err := s.memory.writeRaw(&r)
		if err != nil {
			return err
		}
		s.stored = append(s.stored, stored)
		s.runs[0] = run{}
		s.runs = s.runs[1:]
		s.memory.used -= r.bytes()
	}
	s.memory.used -= s.last.bytes() // room without values
	s.last = run{}
	return nil
}

// sortStored sorts the raw runs of the file, one at a time. If the file cannot be written, the sorted
// run stays in memory, even beyond the bound.
func (s *Sorter) sortStored() error {
	var b rawBuffer
	for i := 0; i < len(s.stored); i++ {
		if s.stored[i].raw == 0 {
			continue
		}
		if err := s.memory.readRaw(s.stored[i], &b); err != nil {
			return err
		}
		r := b.values
		s.memory.sort(&r)
		sorted, err := s.memory.writeSorted(&r, s.stored[i])
		if err == nil {
			s.stored[i] = sorted
			continue
		}
		s.memory.full = err
		s.memory.used += r.bytes()
		s.runs = append(s.runs, r)
		b = rawBuffer{}
		s.stored = slices.Delete(s.stored, i, i+1)
		i--
	}
	return nil
}

// Release drops all values. The file keeps its size.
func (s *Sorter) Release() {
	s.memory.used -= s.bytes()
	if all := s.memory.sorters; s.index >= 0 {
		last := len(all) - 1
		all[s.index], all[last].index = all[last], s.index
		all[last] = nil
		s.memory.sorters = all[:last]
	}
	*s = Sorter{memory: s.memory, index: -1}
}
