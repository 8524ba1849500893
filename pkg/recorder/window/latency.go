package window

import (
	"slices"
	"time"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Latency summarizes latencies (last response − start). The zero value summarizes
// none.
type Latency struct {
	// Approximate says that there were more than 65,536 latencies, so they were
	// counted in buckets and percentiles are rounded up by at most 1/4096.
	Approximate bool
	// Percentiles[1] to [99] are the latencies at perf_analyzer's index
	// int(pct/100·(n−1)+0.5) of the sorted ones.
	Percentiles [100]time.Duration
}

// maxExact is how many latencies are kept exactly: half a megabyte.
const maxExact = 1 << 16

// Latencies collects latencies, in memory that does not grow with their number: up to
// maxExact exactly, more of them in buckets. The zero value is empty. The sum fits:
// 2^63 ns are 292 years.
type Latencies struct {
	exact   []time.Duration
	buckets stat.Histogram // of all latencies, once there are more than maxExact
	n       int
	sum     time.Duration
	// mean and squares are Welford's: the mean and the sum of the squared
	// differences from it, without the cancellation of a sum of squares.
	mean, squares float64
}

// latencyBits keeps a percentile within 1/4096.
const latencyBits = 12

// Add adds a latency.
func (l *Latencies) Add(d time.Duration) {
	l.n++
	l.sum += d
	from := float64(d) - l.mean
	l.mean += from / float64(l.n)
	l.squares += float64(from * (float64(d) - l.mean)) // the conversion forbids fused arithmetic
	if l.n <= maxExact {
		l.exact = append(l.exact, d)
		return
	}
	if l.n == maxExact+1 {
		l.fillBuckets()
	}
	l.buckets.Add(d)
}

// fillBuckets counts the exact latencies in the buckets.
func (l *Latencies) fillBuckets() {
	l.buckets.Bits = latencyBits
	for _, d := range l.exact {
		l.buckets.Add(d)
	}
}

// merge adds the latencies of o.
func (l *Latencies) merge(o *Latencies) {
	if o.n <= maxExact {
		for _, d := range o.exact {
			l.Add(d)
		}
		return
	}
	if l.n <= maxExact {
		l.fillBuckets()
	}
	l.buckets.Merge(&o.buckets)
	// Chan, Golub and LeVeque's update of mean and squares by a second sample.
	n, from := float64(l.n+o.n), o.mean-l.mean
	l.squares += o.squares + float64(from*from*float64(l.n)*float64(o.n)/n)
	l.mean += float64(from * float64(o.n) / n)
	l.n += o.n
	l.sum += o.sum
}

// reset empties l and keeps its memory.
func (l *Latencies) reset() {
	l.exact = l.exact[:0]
	l.buckets.Reset()
	l.n, l.sum, l.mean, l.squares = 0, 0, 0, 0
}

// Mean returns the mean latency; 0 if there are none.
func (l *Latencies) Mean() time.Duration {
	if l.n == 0 {
		return 0
	}
	return l.sum / time.Duration(l.n)
}

// typical returns the percentile pct (see Latency.Percentiles), or the mean when pct
// is 0. l must not be empty.
func (l *Latencies) typical(pct int) time.Duration {
	if pct <= 0 {
		return l.Mean()
	}
	return l.percentiles(pct)[0]
}

func (l *Latencies) percentiles(pcts ...int) []time.Duration {
	all := make([]time.Duration, len(pcts))
	var sorted []time.Duration
	if l.n <= maxExact {
		sorted = slices.Sorted(slices.Values(l.exact))
	}
	for i, pct := range pcts {
		index := pawindow.Index(pct, l.n)
		if sorted != nil {
			all[i] = sorted[index]
		} else {
			all[i] = l.buckets.At(index)
		}
	}
	return all
}

// Summary returns the percentiles of the latencies.
func (l *Latencies) Summary() Latency {
	s := Latency{Approximate: l.n > maxExact}
	if l.n == 0 {
		return s
	}
	var pcts []int
	for pct := 1; pct < len(s.Percentiles); pct++ {
		pcts = append(pcts, pct)
	}
	copy(s.Percentiles[1:], l.percentiles(pcts...))
	return s
}
