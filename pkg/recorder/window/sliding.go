package window

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/internal/histogram"
)

// Sliding sums up the requests that ended in the last five seconds, in buckets of half
// a second. The zero value is empty.
type Sliding struct {
	buckets [slidingBuckets]slidingBucket
	merged  slidingBucket // used by Recent, which keeps its memory
}

const (
	slidingBuckets = 10
	slidingStep    = 500 * time.Millisecond
)

type slidingBucket struct {
	step     uint64 // half seconds since 1970
	requests int
	tokens   int
	ttft     histogram.Histogram // of streamed requests
	itl      histogram.Histogram // of streamed requests
	e2el     histogram.Histogram // of the others
}

// reset empties b and keeps its memory.
func (b *slidingBucket) reset() {
	b.requests, b.tokens = 0, 0
	b.ttft.Reset()
	b.itl.Reset()
	b.e2el.Reset()
}

// AddStreamed adds a streamed request that ended at endNS with this many tokens, the
// first of them ttft after the start. gaps are its responses from the first token to the
// last, each with a token of the same choice; nil where the gaps of tokens are unknown.
func (s *Sliding) AddStreamed(endNS uint64, tokens int, ttft time.Duration, gaps []export.Response) {
	b := s.bucket(endNS)
	if b == nil {
		return
	}
	b.requests++
	b.tokens += tokens
	b.ttft.Add(ttft)
	for i := 1; i < len(gaps); i++ {
		b.itl.Add(time.Duration(gaps[i].RecvNS - gaps[i-1].RecvNS))
	}
}

// AddWhole adds a request that was not streamed and ended at endNS, e2el after its
// start.
func (s *Sliding) AddWhole(endNS uint64, e2el time.Duration) {
	if b := s.bucket(endNS); b != nil {
		b.requests++
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
		b.step = step
		b.reset()
	}
	return b
}

// Recent holds figures of the successful requests that ended in the last five seconds.
// Percentiles are by nearest rank and at most 1/64 too high. A figure is 0 when there is
// none.
type Recent struct {
	TTFT, ITL Percentiles // of streamed requests; ITL is of their gaps between token events
	E2EL      Percentiles // of the other requests

	TokensPerSecond   float64 // output tokens of streamed requests
	RequestsPerSecond float64
}

// Percentiles are two percentiles of durations; 0 for no durations.
type Percentiles struct{ P50, P99 time.Duration }

func percentilesOf(h *histogram.Histogram) Percentiles {
	return Percentiles{h.Percentile(50), h.Percentile(99)}
}

// Recent returns the figures at nowNS. sinceNS is when the level began.
func (s *Sliding) Recent(nowNS, sinceNS uint64) Recent {
	all := &s.merged
	all.reset()
	last := nowNS / uint64(slidingStep)
	first := last - (slidingBuckets - 1)
	for i := range s.buckets {
		if b := &s.buckets[i]; b.step >= first && b.step <= last {
			all.requests += b.requests
			all.tokens += b.tokens
			all.ttft.Merge(&b.ttft)
			all.itl.Merge(&b.itl)
			all.e2el.Merge(&b.e2el)
		}
	}
	r := Recent{TTFT: percentilesOf(&all.ttft), ITL: percentilesOf(&all.itl), E2EL: percentilesOf(&all.e2el)}
	if from := max(first*uint64(slidingStep), sinceNS); nowNS > from {
		seconds := time.Duration(nowNS - from).Seconds()
		r.TokensPerSecond, r.RequestsPerSecond = float64(all.tokens)/seconds, float64(all.requests)/seconds
	}
	return r
}
