package window

import (
	"time"

	"github.com/pa-tools/pa/pkg/recorder/internal/histogram"
)

// Sliding sums up the requests that ended in the last five seconds, in buckets of half
// a second. The zero value is empty.
type Sliding struct {
	buckets [slidingBuckets]slidingBucket
}

const (
	slidingBuckets = 10
	slidingStep    = 500 * time.Millisecond
)

type slidingBucket struct {
	step   uint64 // half seconds since 1970
	tokens int
	ttft   histogram.Histogram // of streamed requests
	e2el   histogram.Histogram // of the others
}

// AddStreamed adds a streamed request that ended at endNS with this many tokens, the
// first of them ttft after the start.
func (s *Sliding) AddStreamed(endNS uint64, tokens int, ttft time.Duration) {
	if b := s.bucket(endNS); b != nil {
		b.tokens += tokens
		b.ttft.Add(ttft)
	}
}

// AddWhole adds a request that was not streamed and ended at endNS, e2el after its
// start.
func (s *Sliding) AddWhole(endNS uint64, e2el time.Duration) {
	if b := s.bucket(endNS); b != nil {
		b.e2el.Add(e2el)
	}
}

// bucket returns the bucket of requests that ended at endNS, nil when that was more
// than five seconds ago.
func (s *Sliding) bucket(endNS uint64) *slidingBucket {
	step := endNS / uint64(slidingStep)
	b := &s.buckets[step%slidingBuckets]
	if step < b.step {
		return nil
	}
	if step > b.step {
		b.step, b.tokens = step, 0
		b.ttft.Reset()
		b.e2el.Reset()
	}
	return b
}

// Recent returns the median time to first token and the tokens per second of streamed
// requests, and the median latency of the others; each is 0 when no such request ended
// lately. sinceNS is when the level began.
func (s *Sliding) Recent(nowNS, sinceNS uint64) (ttft time.Duration, tokensPerSecond float64, e2el time.Duration) {
	var streamed, whole histogram.Histogram
	tokens := 0
	last := nowNS / uint64(slidingStep)
	first := last - (slidingBuckets - 1)
	for i := range s.buckets {
		if b := &s.buckets[i]; b.step >= first && b.step <= last {
			tokens += b.tokens
			streamed.Merge(&b.ttft)
			whole.Merge(&b.e2el)
		}
	}
	from := max(first*uint64(slidingStep), sinceNS)
	if nowNS > from {
		tokensPerSecond = float64(tokens) / time.Duration(nowNS-from).Seconds()
	}
	return streamed.Percentile(50), tokensPerSecond, whole.Percentile(50)
}
