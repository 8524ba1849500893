package recorder

import (
	"math/bits"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A spread counts spans in buckets, in memory that does not grow with their
// number. Spans below 64 ns have a bucket each, each power of two from there on
// has 64, so that a percentile is rounded up by at most 1/64:
//
//	bucket(v) = v                            for v < 64
//	bucket(v) = 64·k + v>>k, k = len(v) − 7  for the others: v>>k is 64 to 127
//
// The zero value is empty. Negative spans count as 0.
type spread struct {
	counts []uint32 // grown to the largest bucket that was needed
	n      int
	max    time.Duration
}

const spreadBits = 6 // log2 of the buckets per power of two

func bucketOf(v uint64) int {
	if v < 1<<spreadBits {
		return int(v)
	}
	k := bits.Len64(v) - spreadBits - 1
	return k<<spreadBits + int(v>>k)
}

// bucketEnd is the largest value of a bucket.
func bucketEnd(i int) uint64 {
	if i < 2<<spreadBits {
		return uint64(i)
	}
	k := i>>spreadBits - 1
	return uint64(i-k<<spreadBits+1)<<k - 1
}

func (s *spread) add(d time.Duration) {
	d = max(d, 0)
	i := bucketOf(uint64(d))
	for len(s.counts) <= i {
		s.counts = append(s.counts, 0)
	}
	s.counts[i]++
	s.n++
	s.max = max(s.max, d)
}

// merge adds the spans of o.
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
	rank := (s.n*pct + 99) / 100
	seen := 0
	for i, c := range s.counts {
		if seen += int(c); c > 0 && seen >= rank {
			return min(time.Duration(bucketEnd(i)), s.max)
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
