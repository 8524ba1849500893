package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// ByOffset returns the entries of src in the order of their offsets, which are
// returned too; equal ones stay in the order of src. The values "timestamp" are
// left out, as perf_analyzer does not send them either. The error is of src, or of
// an entry without an offset. It takes 16 bytes of memory for each entry.
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

// byOffset is a source in another order.
type byOffset struct {
	src   Source
	index []int // for each place the entry in src
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
