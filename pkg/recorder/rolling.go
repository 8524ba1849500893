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
	ttft   spread // of requests that were streamed
	e2el   spread // of the others
}

// add takes a request that was streamed and ended at endNS, with that many
// tokens, the first of them after ttft.
func (w *rolling) add(endNS uint64, tokens int, ttft time.Duration) {
	if p := w.part(endNS); p != nil {
		p.tokens += tokens
		p.ttft.add(ttft)
	}
}

// addWhole takes a request that was not streamed and ended at endNS, after e2el.
func (w *rolling) addWhole(endNS uint64, e2el time.Duration) {
	if p := w.part(endNS); p != nil {
		p.e2el.add(e2el)
	}
}

// part returns the part for requests that ended at endNS, nil when that was more
// than five seconds ago.
func (w *rolling) part(endNS uint64) *rollingPart {
	nth := endNS / uint64(rollingStep)
	p := &w.parts[nth%rollingParts]
	if nth < p.nth {
		return nil
	}
	if nth > p.nth {
		p.nth, p.tokens = nth, 0
		p.ttft.reset()
		p.e2el.reset()
	}
	return p
}

// now returns the median time to the first token of streamed requests and their
// tokens per second, and the median latency of the others; 0 when none ended
// lately. sinceNS is when the level began.
func (w *rolling) now(nowNS, sinceNS uint64) (ttft time.Duration, tokensPerSecond float64, e2el time.Duration) {
	var all, whole spread
	tokens := 0
	last := nowNS / uint64(rollingStep)
	first := last - (rollingParts - 1)
	for i := range w.parts {
		if p := &w.parts[i]; p.nth >= first && p.nth <= last {
			tokens += p.tokens
			all.merge(&p.ttft)
			whole.merge(&p.e2el)
		}
	}
	from := max(first*uint64(rollingStep), sinceNS)
	if nowNS > from {
		tokensPerSecond = float64(tokens) / time.Duration(nowNS-from).Seconds()
	}
	return all.percentile(50), tokensPerSecond, whole.percentile(50)
}
