package recorder

import (
	"math"
	"slices"
	"time"
)

// Latency summarizes latencies: last response − start. The zero value is that of
// none.
type Latency struct {
	N        int
	MeanNS   float64
	StdDevNS float64 // of the sample; 0 for fewer than two
	// Approximate says that there were too many to keep, so that percentiles are
	// rounded up by at most 1/4096.
	Approximate bool
	// Percentiles 1 to 99: the latencies at perf_analyzer's index
	// int(pct/100·(n−1)+0.5) of the sorted ones.
	Percentiles [100]time.Duration
}

// maxExact is how many latencies are kept as they are: half a megabyte.
const maxExact = 1 << 16

// latencies collects the latencies of a level or a window, in memory that does
// not grow with their number: up to maxExact as they are, from there on in
// buckets. The zero value is empty. The sum fits: 2^63 ns are 292 years.
type latencies struct {
	exact   []time.Duration
	buckets spread // of all, once there are more than maxExact
	n       int
	sum     time.Duration
	// mean and squares are Welford's: the mean and the sum of the squared
	// differences from it, without the cancellation of a sum of squares.
	mean, squares float64
}

// latencyBits is what keeps a percentile within 1/4096.
const latencyBits = 12

func (l *latencies) add(d time.Duration) {
	l.n++
	l.sum += d
	from := float64(d) - l.mean
	l.mean += from / float64(l.n)
	l.squares += from * (float64(d) - l.mean)
	if l.n <= maxExact {
		l.exact = append(l.exact, d)
		return
	}
	if l.n == maxExact+1 {
		l.buckets.bits = latencyBits
		for _, before := range l.exact {
			l.buckets.add(before)
		}
	}
	l.buckets.add(d)
}

// merge adds the latencies of o.
func (l *latencies) merge(o *latencies) {
	if o.n <= maxExact {
		for _, d := range o.exact {
			l.add(d)
		}
		return
	}
	if o.n > 0 && l.n <= maxExact {
		l.buckets.bits = latencyBits
		for _, before := range l.exact {
			l.buckets.add(before)
		}
	}
	l.buckets.merge(&o.buckets)
	// Chan, Golub and LeVeque's update of mean and squares by a second sample.
	n, from := float64(l.n+o.n), o.mean-l.mean
	l.squares += o.squares + from*from*float64(l.n)*float64(o.n)/n
	l.mean += from * float64(o.n) / n
	l.n += o.n
	l.sum += o.sum
}

// reset empties l and keeps its memory.
func (l *latencies) reset() {
	l.exact = l.exact[:0]
	l.buckets.reset()
	l.n, l.sum, l.mean, l.squares = 0, 0, 0, 0
}

// typical returns the mean, or the percentile pct if that is more than 0: see
// Latency.Percentiles. There must be a latency.
func (l *latencies) typical(pct int) time.Duration {
	if pct <= 0 {
		return l.sum / time.Duration(l.n)
	}
	return l.percentiles(pct)[0]
}

// percentiles returns several of them.
func (l *latencies) percentiles(pcts ...int) []time.Duration {
	all := make([]time.Duration, len(pcts))
	var sorted []time.Duration
	if l.n <= maxExact {
		sorted = slices.Sorted(slices.Values(l.exact))
	}
	for i, pct := range pcts {
		index := int(float64(pct)/100*float64(l.n-1) + 0.5)
		if sorted != nil {
			all[i] = sorted[index]
		} else {
			all[i] = l.buckets.at(index)
		}
	}
	return all
}

// summary returns what is kept of a level that is over.
func (l *latencies) summary() Latency {
	s := Latency{N: l.n, Approximate: l.n > maxExact}
	if l.n == 0 {
		return s
	}
	s.MeanNS = float64(l.sum) / float64(l.n)
	if l.n > 1 {
		s.StdDevNS = math.Sqrt(l.squares / float64(l.n-1))
	}
	var pcts []int
	for pct := 1; pct < len(s.Percentiles); pct++ {
		pcts = append(pcts, pct)
	}
	copy(s.Percentiles[1:], l.percentiles(pcts...))
	return s
}
