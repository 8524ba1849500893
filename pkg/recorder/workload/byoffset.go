package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// ByOffset returns the entries of src sorted by offset, and the sorted offsets. Entries
// with equal offsets keep their order. As in perf_analyzer, the values named "timestamp"
// are not sent. ByOffset returns an error of src, or for an entry without an offset. It
// needs 16 bytes of memory per entry.
func ByOffset(src Source) (Source, []time.Duration, error) {
	s := &byOffset{src: src, index: make([]int, src.Len())}
	offsets := make([]time.Duration, src.Len())
	for k := range offsets {
		e, err := src.At(k)
		if err != nil {
			return nil, nil, err
		}
		if !e.Timed {
			return nil, nil, fmt.Errorf("%s: no \"timestamp\"; a schedule needs one, in milliseconds, in every entry", e.Place())
		}
		s.index[k], offsets[k] = k, e.Offset
	}
	slices.SortStableFunc(s.index, func(a, b int) int { return int(offsets[a] - offsets[b]) })
	slices.Sort(offsets)
	return s, offsets, nil
}

// byOffset is a permutation of a source.
type byOffset struct {
	src   Source
	index []int // the entry of src at each position
}

// Len implements Source.
func (s *byOffset) Len() int { return len(s.index) }

// At implements Source.
func (s *byOffset) At(k int) (Entry, error) {
	e, err := s.src.At(s.index[k])
	if _, ok := e.Values.Get("timestamp"); err != nil || !ok {
		return e, err
	}
	values := make(export.Fields, 0, len(e.Values)-1)
	for _, f := range e.Values {
		if f.Name != "timestamp" {
			values = append(values, f)
		}
	}
	e.Values = values
	return e, nil
}
