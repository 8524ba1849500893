package recorder

import "time"

// A rolling sums up the requests that ended in the last five seconds, in parts
// of half a second. The zero value is empty.
type rolling struct {
	parts [rollingParts]rollingPart
}

const (
	rollingParts = 10
	rollingStep  = 500 * time.Millisecond
)

type rollingPart struct {
	nth    uint64 // half seconds since 1970
	tokens int
	ttft   spread
}

// add takes a request that ended at endNS with that many tokens, the first of
// them after ttft.
func (w *rolling) add(endNS uint64, tokens int, ttft time.Duration) {
	nth := endNS / uint64(rollingStep)
	p := &w.parts[nth%rollingParts]
	if nth < p.nth {
		return // more than five seconds ago
	}
	if nth > p.nth {
		p.nth, p.tokens = nth, 0
		p.ttft.reset()
	}
	p.tokens += tokens
	p.ttft.add(ttft)
}

// now returns the median time to the first token, 0 when nothing ended lately,
// and the tokens per second. sinceNS is when the level began.
func (w *rolling) now(nowNS, sinceNS uint64) (ttft time.Duration, tokensPerSecond float64) {
	var all spread
	tokens := 0
	last := nowNS / uint64(rollingStep)
	first := last - (rollingParts - 1)
	for i := range w.parts {
		if p := &w.parts[i]; p.nth >= first && p.nth <= last {
			tokens += p.tokens
			all.merge(&p.ttft)
		}
	}
	from := max(first*uint64(rollingStep), sinceNS)
	if nowNS > from {
		tokensPerSecond = float64(tokens) / time.Duration(nowNS-from).Seconds()
	}
	return all.percentile(50), tokensPerSecond
}
