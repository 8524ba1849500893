package extsort

import (
	"slices"

	"github.com/pa-tools/pa/internal/quantile"
)

// A Sorter collects integers and passes them on in ascending order.
type Sorter struct {
	memory *Memory
	n      int
	last   []int64     // values in the order of Add
	runs   [][]int64   // sorted, in memory
	stored []storedRun // in the file
}

// Len returns the number of values.
func (s *Sorter) Len() int { return s.n }

// Add adds values.
func (s *Sorter) Add(values ...int64) {
	s.n += len(values)
	for len(values) > 0 {
		if len(s.last) == cap(s.last) {
			s.grow()
		}
		k := min(len(values), cap(s.last)-len(s.last))
		s.last = append(s.last, values[:k]...)
		values = values[k:]
	}
}

// grow makes room for at least one value in s.last: twice the room, or a new run when the
// present one is full.
func (s *Sorter) grow() {
	m := s.memory
	most := m.mostRun()
	if len(s.last) >= most {
		s.endRun()
	}
	room := min(max(2*cap(s.last), leastRun), most)
	m.makeRoom(8 * int64(room)) // the old room stays until its values are copied
	m.used += 8 * int64(room-cap(s.last))
	s.last = append(make([]int64, 0, room), s.last...)
}

// endRun sorts the values of s.last and makes them a run.
func (s *Sorter) endRun() {
	if len(s.last) > 0 {
		s.memory.scratch = quantile.SortWith(s.last, s.memory.scratch)
		s.runs = append(s.runs, s.last)
		s.last = nil
	}
}

// bytes returns the memory of the values.
func (s *Sorter) bytes() int64 {
	n := cap(s.last)
	for _, r := range s.runs {
		n += cap(r)
	}
	return 8 * int64(n)
}

// spill moves all runs to the file. After an error, the runs that are not in the file stay
// in memory.
func (s *Sorter) spill() error {
	s.endRun()
	for len(s.runs) > 0 {
		r := s.runs[len(s.runs)-1]
		stored, err := s.memory.write(r)
		if err != nil {
			return err
		}
		s.stored = append(s.stored, stored)
		s.runs[len(s.runs)-1] = nil
		s.runs = s.runs[:len(s.runs)-1]
		s.memory.used -= 8 * int64(cap(r))
	}
	return nil
}

// Release drops all values. The file keeps its size.
func (s *Sorter) Release() {
	s.memory.used -= s.bytes()
	s.memory.sorters = slices.DeleteFunc(s.memory.sorters, func(o *Sorter) bool { return o == s })
	*s = Sorter{memory: s.memory}
}
