package serving

import (
	"math"
	"slices"
)

// peaks sets the highest numbers of token events and of requests in a second. Seconds
// count from the first start of a successful request. A request counts in each second
// that it touches, so the number can be higher than were ever in flight.
func (l *level) peaks(out *Level) {
	if !l.tool.rules.peaks {
		return
	}
	if l.noStarts {
		out.PeakTokens, out.PeakRequests = math.NaN(), math.NaN()
		return
	}
	first := math.Inf(1)
	for o := range l.all.each(false) {
		if o.success {
			first = min(first, o.start())
		}
	}
	// A second is a float, because a clock that was set can give any value.
	tokens := map[float64]int{}
	var edges []edge
	most := 0
	for o := range l.all.each(true) {
		if !o.success {
			continue
		}
		at := o.start() + o.ttft
		for i := 0; ; i++ {
			s := math.Trunc(at - first)
			tokens[s]++
			most = max(most, tokens[s])
			if i == len(o.itl) {
				break
			}
			at += float64(o.itl[i]) / 1e9
		}
		edges = append(edges, edge{math.Trunc(o.start() - first), 1}, edge{math.Trunc(o.start()+o.latency-first) + 1, -1})
	}
	out.PeakTokens = float64(most)
	if l.noGaps {
		out.PeakTokens = math.NaN()
	}
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.second < b.second:
			return -1
		case a.second > b.second:
			return 1
		}
		return a.delta - b.delta // requests that end first
	})
	now := 0
	for _, e := range edges {
		now += e.delta
		out.PeakRequests = max(out.PeakRequests, float64(now))
	}
}

// An edge is a time at which the number of requests changes.
type edge struct {
	second float64
	delta  int
}

// start returns the tool's clock at the start of a request.
func (o *outcome) start() float64 { return float64(o.startNS) / 1e9 }
