package dataset

import (
	"sort"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A piece is a range of entries of a Set.
type piece struct{ begin, end int }

// countStreams records the streams of the entries of a row.
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

// addStreams adds the streams of a file. As in perf_analyzer, a file without streams continues
// the first stream.
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

// Streams returns the number of streams, which are sequences of steps in perf_analyzer's
// input data. Other data has one stream.
func (s *Set) Streams() int { return len(s.streams) }

// Stream returns the entries of a stream, which may be empty.
func (s *Set) Stream(i int) workload.Source {
	v := &stream{set: s}
	for _, p := range s.streams[i] {
		v.pieces = append(v.pieces, p)
		v.ends = append(v.ends, v.Len()+p.end-p.begin)
	}
	return v
}

// A stream is the source of the entries of one stream.
type stream struct {
	set    *Set
	pieces []piece
	ends   []int // number of entries up to the end of each piece
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
