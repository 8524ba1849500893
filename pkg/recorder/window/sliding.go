package window

import (
	"time"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// Sliding sums up the requests that ended in the last five seconds, in buckets of half
// a second, and the responses that arrived in them. The zero value is empty.
type Sliding struct {
	// Streamed says that the requests asked for streams: until the first one ends, each
	// response counts as a token.
	Streamed bool

	buckets [slidingBuckets]slidingBucket
	merged  slidingBucket // used by Recent, which keeps its memory

	// arrived is a ring of samples, and next the place of the next sample.
	arrived [arrivedSamples]arrivedSample
	next    int
	// tokens and responses count what the streamed requests of the level that have ended got.
	tokens, responses int
}

// An arrivedSample is the number of responses that had arrived at an instant.
type arrivedSample struct {
	ns uint64 // 0: none
	n  uint64
}

const (
	// arrivedSamples suffice for slidingSpan, if Arrived is called every 250 ms.
	arrivedSamples = 32
	slidingSpan    = slidingBuckets * slidingStep
)

const (
	slidingBuckets = 10
	slidingStep    = 500 * time.Millisecond
)

type slidingBucket struct {
	step     uint64 // half seconds since 1970
	requests int
	ttft     stat.Histogram // of streamed requests
	itl      stat.Histogram // of streamed requests
	e2el     stat.Histogram // of other requests
}

// reset empties b and keeps its memory.
func (b *slidingBucket) reset() {
	b.requests = 0
	b.ttft.Reset()
	b.itl.Reset()
	b.e2el.Reset()
}

// Arrived notes that n responses of the level, which began at sinceNS, had arrived at nowNS.
func (s *Sliding) Arrived(nowNS, sinceNS, n uint64) {
	if s.next == 0 && s.arrived[0].ns == 0 {
		s.arrived[0], s.next = arrivedSample{ns: sinceNS}, 1
	}
	s.arrived[s.next] = arrivedSample{nowNS, n}
	s.next = (s.next + 1) % arrivedSamples
}

// tokensPerSecond returns the rate at which tokens arrived in the last five seconds. A
// response counts as many tokens as in the requests that have ended.
func (s *Sliding) tokensPerSecond(nowNS uint64) float64 {
	share := 0.0
	switch {
	case s.responses > 0:
		share = float64(s.tokens) / float64(s.responses)
	case s.Streamed:
		share = 1
	}
	last := s.arrived[(s.next+arrivedSamples-1)%arrivedSamples]
	var first arrivedSample // the latest sample that is five seconds old, else the oldest sample
	for i := range s.arrived {
		a := s.arrived[(s.next+i)%arrivedSamples]
		if a.ns == 0 || first.ns != 0 && a.ns+uint64(slidingSpan) > nowNS {
			continue
		}
		first = a
	}
	if last.ns <= first.ns {
		return 0
	}
	return share * float64(last.n-first.n) / time.Duration(last.ns-first.ns).Seconds()
}

// AddStreamed adds a streamed request that ended at endNS with this many tokens in its
// responses; the first token came ttft after the start. gaps are its responses from the first token
// to the last, each with a token of the same choice; nil where the gaps of tokens are unknown.
func (s *Sliding) AddStreamed(endNS uint64, tokens, responses int, ttft time.Duration, gaps []export.Response) {
	s.tokens += tokens
	s.responses += responses
	b := s.bucket(endNS)
	if b == nil {
		return
	}
	b.requests++
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

// Recent holds figures of the successful requests that ended in the last five seconds, and
// of the tokens that arrived in them. Percentiles are by nearest rank and at most 1/64 too high. A
// figure is 0 when there is none.
type Recent struct {
	TTFT, ITL Percentiles // of streamed requests; ITL is of their gaps between token events
	E2EL      Percentiles // of the other requests

	TokensPerSecond   float64 // output tokens of streamed requests, also of requests in flight
	RequestsPerSecond float64
}

// Percentiles are two percentiles of durations; 0 for no durations.
type Percentiles struct{ P50, P99 time.Duration }

func percentilesOf(h *stat.Histogram) Percentiles {
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
			all.ttft.Merge(&b.ttft)
			all.itl.Merge(&b.itl)
			all.e2el.Merge(&b.e2el)
		}
	}
	r := Recent{TTFT: percentilesOf(&all.ttft), ITL: percentilesOf(&all.itl), E2EL: percentilesOf(&all.e2el)}
	if from := max(first*uint64(slidingStep), sinceNS); nowNS > from {
		seconds := time.Duration(nowNS - from).Seconds()
		r.RequestsPerSecond = float64(all.requests) / seconds
	}
	r.TokensPerSecond = s.tokensPerSecond(nowNS)
	return r
}
