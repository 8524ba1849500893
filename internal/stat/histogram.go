package stat

import (
	"math/bits"
	"time"
)

// histogramBits is the precision that Histogram.Bits 0 means: percentiles are at most
// 1/64 too high.
const histogramBits = 6

// Histogram counts durations in buckets, in memory that does not grow with
// their number. It keeps no sum and no order: use it for percentiles only.
//
// Durations below 2^b ns have a bucket each. From there on each power of two has 2^b
// buckets, so a percentile is rounded up by at most 1/2^b of its value:
//
//	bucket(v) = v                                  for v < 2^b
//	bucket(v) = 2^b·k + v>>k, k = len(v) − (b + 1)  otherwise; v>>k is in [2^b, 2^(b+1))
//
// The zero value is empty and has histogramBits. Negative durations count as 0. It is not safe for concurrent use.
type Histogram struct {
	Bits int // b above; 0 means histogramBits. Set it before the first Add.

	counts []uint32 // grown to the largest bucket in use
	n      int
	max    time.Duration
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	i := bucketOf(uint64(d), h.precision())
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i]++
	h.n++
	h.max = max(h.max, d)
}

// Merge adds the counts of o, which must have the same Bits.
func (h *Histogram) Merge(o *Histogram) {
	for len(h.counts) < len(o.counts) {
		h.counts = append(h.counts, 0)
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.n, h.max = 0, 0
}

// Percentile returns the percentile by nearest rank: the smallest duration that pct
// percent of the durations do not exceed, rounded up to the end of its bucket, since the
// histogram keeps no durations. 0 when the histogram is empty.
func (h *Histogram) Percentile(pct int) time.Duration {
	return h.At(max((h.n*pct+99)/100-1, 0))
}

// At returns the duration at an index of the sorted durations, rounded up to its
// bucket; 0 when there are not that many.
func (h *Histogram) At(index int) time.Duration {
	seen := 0
	for i, c := range h.counts {
		if seen += int(c); seen > index {
			return min(time.Duration(bucketEnd(i, h.precision())), h.max)
		}
	}
	return 0
}

// Len returns the number of durations.
func (h *Histogram) Len() int { return h.n }

// Max returns the longest duration; 0 when the histogram is empty.
func (h *Histogram) Max() time.Duration { return h.max }

func (h *Histogram) precision() int {
	if h.Bits == 0 {
		return histogramBits
	}
	return h.Bits
}

func bucketOf(v uint64, b int) int {
	if v < 1<<b {
		return int(v)
	}
	k := bits.Len64(v) - b - 1
	return k<<b + int(v>>k)
}

// bucketEnd returns the largest value of bucket i.
func bucketEnd(i, b int) uint64 {
	if i < 2<<b {
		return uint64(i)
	}
	k := i>>b - 1
	return uint64(i-k<<b+1)<<k - 1
}
