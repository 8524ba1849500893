package recorder

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// waitsName is the runtime's histogram of the time for which runnable goroutines waited
// for a thread, in seconds.
const waitsName = "/sched/latencies:seconds"

// waits is a histogram of the runtime: counts[i] is the number of waits from bounds[i] to
// bounds[i+1]. The runtime has four buckets for each power of two from 256 ns on; below,
// a bucket is 64 ns wide.
type waits struct {
	counts []uint64
	bounds []float64
}

// readWaits returns all waits since the process began; none if the runtime does not count
// them.
func readWaits() waits {
	sample := []metrics.Sample{{Name: waitsName}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return waits{}
	}
	h := sample[0].Value.Float64Histogram()
	return waits{slices.Clone(h.Counts), h.Buckets}
}

// since returns the waits that w counts and before does not: their difference.
func (w waits) since(before waits) waits {
	d := waits{slices.Clone(w.counts), w.bounds}
	for i := range min(len(d.counts), len(before.counts)) {
		d.counts[i] -= before.counts[i]
	}
	return d
}

// percentile returns the percentile by nearest rank, as the upper bound of its bucket: it
// is too large by at most a quarter, or by 64 ns below 256 ns. For the last bucket, which
// has no upper bound, it is the lower bound. 0 for no waits.
func (w waits) percentile(pct float64) time.Duration {
	var n uint64
	for _, c := range w.counts {
		n += c
	}
	if n == 0 {
		return 0
	}
	rank := uint64(math.Ceil(pct / 100 * float64(n)))
	var seen uint64
	for i, c := range w.counts {
		if seen += c; seen >= rank {
			upper := w.bounds[i+1]
			if math.IsInf(upper, 1) {
				upper = w.bounds[i]
			}
			return time.Duration(max(upper, 0) * float64(time.Second))
		}
	}
	return 0
}
