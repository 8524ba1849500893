package dataset

import (
	"sort"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A piece is a range of entries of a Set.
type piece struct{ begin, end int }

// countStreams notes in which streams a row's entries are.
func (f *file) countStreams(es []workload.Entry) {
	d, ok := f.rows.(*document)
	if !ok || !d.streams {
		return
	}
	if f.streams == nil {
		f.streams = make([]int, len(d.ends))
	}
	for k, e := range es {
		for s := e.Stream; s < len(f.streams); s++ {
			f.streams[s] = f.n + k + 1
		}
	}
}

// addStreams takes a file in: a file of streams adds its own, any other one goes
// on with the first, as with perf_analyzer.
func (s *Set) addStreams(f *file) {
	begin := s.Len()
	if f.streams == nil {
		if len(s.streams) == 0 {
			s.streams = append(s.streams, nil)
		}
		s.streams[0] = append(s.streams[0], piece{begin, begin + f.n})
		return
	}
	f.firstStream = len(s.streams)
	last := 0
	for _, end := range f.streams {
		s.streams = append(s.streams, []piece{{begin + last, begin + end}})
		last = end
	}
}

// Streams returns how many streams there are: sequences of steps in the input
// data of perf_analyzer. Other data is one.
func (s *Set) Streams() int { return len(s.streams) }

// Stream returns the entries of one stream; it may have none.
func (s *Set) Stream(i int) workload.Source {
	v := &stream{set: s}
	for _, p := range s.streams[i] {
		v.pieces = append(v.pieces, p)
		v.ends = append(v.ends, v.Len()+p.end-p.begin)
	}
	return v
}

// A stream is a part of a Set.
type stream struct {
	set    *Set
	pieces []piece
	ends   []int // how many entries the pieces have up to each
}

// Len implements workload.Source.
func (v *stream) Len() int {
	if len(v.ends) == 0 {
		return 0
	}
	return v.ends[len(v.ends)-1]
}

// At implements workload.Source.
func (v *stream) At(k int) (workload.Entry, error) {
	i := sort.SearchInts(v.ends, k+1)
	if i > 0 {
		k -= v.ends[i-1]
	}
	return v.set.At(v.pieces[i].begin + k)
}
