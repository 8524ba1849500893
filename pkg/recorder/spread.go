package recorder

import (
	"math/bits"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A spread counts spans in buckets, in memory that does not grow with their
// number. Spans below 2^b ns have a bucket each, each power of two from there on
// has 2^b, so that a percentile is rounded up by at most 1/2^b:
//
//	bucket(v) = v                                  for v < 2^b
//	bucket(v) = 2^b·k + v>>k, k = len(v) − (b + 1)  for the others: v>>k is 2^b to 2^(b+1) − 1
//
// The zero value is empty. Negative spans count as 0.
type spread struct {
	bits   int      // b; 0 means spreadBits
	counts []uint32 // grown to the largest bucket that was needed
	n      int
	max    time.Duration
}

const spreadBits = 6

func (s *spread) precision() int {
	if s.bits == 0 {
		return spreadBits
	}
	return s.bits
}

func bucketOf(v uint64, b int) int {
	if v < 1<<b {
		return int(v)
	}
	k := bits.Len64(v) - b - 1
	return k<<b + int(v>>k)
}

// bucketEnd is the largest value of a bucket.
func bucketEnd(i, b int) uint64 {
	if i < 2<<b {
		return uint64(i)
	}
	k := i>>b - 1
	return uint64(i-k<<b+1)<<k - 1
}

func (s *spread) add(d time.Duration) {
	d = max(d, 0)
	i := bucketOf(uint64(d), s.precision())
	for len(s.counts) <= i {
		s.counts = append(s.counts, 0)
	}
	s.counts[i]++
	s.n++
	s.max = max(s.max, d)
}

// merge adds the spans of o, which has as many bits.
func (s *spread) merge(o *spread) {
	for len(s.counts) < len(o.counts) {
		s.counts = append(s.counts, 0)
	}
	for i, c := range o.counts {
		s.counts[i] += c
	}
	s.n += o.n
	s.max = max(s.max, o.max)
}

func (s *spread) reset() {
	clear(s.counts)
	s.n, s.max = 0, 0
}

// percentile returns the smallest span that pct percent of the spans do not
// exceed, rounded up; 0 when there are none.
func (s *spread) percentile(pct int) time.Duration {
	return s.at(max((s.n*pct+99)/100-1, 0))
}

// at returns the span of an index among the sorted ones, rounded up; 0 when
// there are not so many.
func (s *spread) at(index int) time.Duration {
	seen := 0
	for i, c := range s.counts {
		if seen += int(c); seen > index {
			return min(time.Duration(bucketEnd(i, s.precision())), s.max)
		}
	}
	return 0
}

// export returns the spread as it is stored, nil when there are no spans.
func (s *spread) export() *export.Spread {
	if s.n == 0 {
		return nil
	}
	return &export.Spread{N: s.n, P50NS: int64(s.percentile(50)), P99NS: int64(s.percentile(99)), MaxNS: int64(s.max)}
}
