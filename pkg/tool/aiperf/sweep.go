package aiperf

import (
	"cmp"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// A quantity is a sum over all requests in flight at an instant.
type quantity uint8

const (
	requests   quantity = iota // number of requests
	prefilling                 // requests that wait for the first token
	decoding                   // requests that have their first token
	prefill                    // tokens per second
	decode
	total
	inFlight // tokens of prompts and answers
	sums
)

// A step is a change of a sum at an instant, in Unix nanoseconds.
type step struct {
	at, by float64
	of     quantity
}

// A span holds the values of a request that the sums need. Its gaps are in the collector.
type span struct {
	startNS, endNS uint64
	ttft           int64
	in, out        float64 // NaN: not known
	from, to       int     // of the gaps
	// whole marks a request that was not streamed or failed. It counts only as in flight.
	whole bool
}

// steps appends the request's changes of the sums, in the order of time. own holds the gaps
// of the request; gaps is the number of gaps of all requests.
//
// The first token comes with the first chunk. The others come in equal parts with the
// other chunks; the last chunk is just before the end. For the rate, the tokens of chunks
// that came in one read are spread over the other gaps. An answer in one chunk has no
// rate, and its tokens are not in flight. If no answer of the run has a second chunk,
// tokens come evenly and are in flight from the first one.
func (s *span) steps(all []step, own []int64, gaps int) []step {
	begin := len(all)
	between := func(of quantity, from, to, value float64) {
		all = append(all, step{from, value, of}, step{to, -value, of})
	}
	start, end := float64(s.startNS), float64(s.endNS)
	between(requests, start, end, 1)
	if s.whole {
		return all
	}
	first := float64(s.startNS + uint64(s.ttft))
	between(prefilling, start, first, 1)
	between(decoding, first, end, 1)
	left := 0.0 // tokens that are in flight at the end
	if first > start && !math.IsNaN(s.in) {
		rate := s.in / (first - start)
		between(prefill, start, first, rate)
		between(total, start, first, rate)
		all = append(all, step{start, s.in, inFlight})
		left = s.in
	}
	if end > first && s.out >= 1 {
		between(total, first, end, (s.out-1)/(end-first))
	}
	switch {
	case math.IsNaN(s.out):
	case gaps == 0 && end > first:
		all = append(all, step{first, s.out, inFlight})
		left += s.out
		if s.out >= 1 {
			between(decode, first, end, (s.out-1)/(end-first))
		}
	case len(own) > 0 && s.out >= 1:
		all = s.chunks(append(all, step{first, 1, inFlight}), own, first, end)
		left += s.out
	}
	if left > 0 {
		all = append(all, step{end, -left, inFlight})
	}
	slices.SortStableFunc(all[begin:], func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return all
}

// chunks appends the steps at all chunks but the first.
func (s *span) chunks(all []step, gaps []int64, first, end float64) []step {
	apart := 0
	for _, g := range gaps {
		if g > 0 {
			apart++
		}
	}
	each, passed := (s.out-1)/float64(len(gaps)), 0.0
	for _, g := range gaps {
		gap := float64(g)
		passed += gap
		at := first + passed
		if gap > 0 {
			rate := (s.out - 1) / float64(apart) / gap
			all = append(all, step{at - gap, rate, decode}, step{at, -rate, decode})
		}
		if at >= end {
			at = math.Nextafter(end, math.Inf(-1))
		}
		all = append(all, step{at, each, inFlight})
	}
	return all
}

// sweeps computes the sums over time. Each pass computes the steps of the requests in
// flight again, so that they are never all in memory.
type sweeps struct{ spans []span }

// add adds a successful request after its gaps were appended to the collector's.
func (w *sweeps) add(r *record, streamed bool, gaps int) {
	s := span{startNS: r.startNS, endNS: r.endNS, ttft: r.ttft, in: math.NaN(), out: math.NaN(), whole: !streamed}
	if r.hasInput {
		s.in = float64(r.input)
	}
	if r.hasOutput {
		s.out = float64(r.output)
	}
	if streamed {
		s.from, s.to = gaps-len(r.gaps), gaps
	}
	w.spans = append(w.spans, s)
}

// failed adds a request that failed.
func (w *sweeps) failed(startNS, endNS uint64) {
	w.spans = append(w.spans, span{startNS: startNS, endNS: endNS, whole: true})
}

// metrics returns the effective and active metrics from one instant to another. gaps
// holds the gaps of all requests, in the order of the calls of add.
func (w *sweeps) metrics(steps []stepMetric, from, to float64, gaps *stat.List) []metric {
	weights := make([]*weighted, len(steps))
	for i := range steps {
		m := steps[i]
		weights[i] = &weighted{stepMetric: m, dependsOn: 1<<m.of | 1<<m.per | 1<<m.active}
	}
	k := walk{w: w, gaps: gaps.Len(), gapsAt: gaps.NewCursor(), from: from, to: to}
	k.run() // only to know how large the sums become
	for i := range k.peaks {
		k.least[i] = 1e-9 * k.peaks[i]
	}
	k.metrics = weights
	for k.pass = firstPass; k.pass <= lastPass; k.pass++ {
		k.run()
	}
	var all []metric
	for _, l := range weights {
		all = append(all, l.metric())
	}
	return all
}

// A walk goes through time from step to step.
type walk struct {
	w        *sweeps
	gaps     int // of all requests
	gapsAt   *stat.Cursor
	own      []int64 // a buffer: the gaps of one request
	from, to float64
	pass     pass
	metrics  []*weighted

	inFlight []running // requests in flight: a heap, the one with the next step first
	free     [][]step  // buffers of ended requests
	now      [sums]float64
	peaks    [sums]float64 // the maximum of each sum, even if it lasted no time
	// least holds the least values of the sums; smaller ones are rounding errors of
	// additions and subtractions.
	least  [sums]float64
	rising []step // increases at the current instant, which are added after its decreases
}

// running is a request in flight. steps[0] is its next step, at the instant at.
type running struct {
	at            float64
	index         int // of the span, in the order of the file
	steps, buffer []step
}

func (r *running) before(o *running) bool {
	if r.at != o.at {
		return r.at < o.at
	}
	return r.index < o.index
}

// run makes one pass over all steps.
func (k *walk) run() {
	k.now = [sums]float64{}
	for _, l := range k.metrics {
		l.since, l.value, l.on = k.from, 0, l.active == sums
	}
	order := make([]int32, len(k.w.spans))
	for i := range order {
		order[i] = int32(i) //nolint:gosec // there are not 2^31 requests in memory
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(k.w.spans[a].startNS, k.w.spans[b].startNS) })
	for len(order) > 0 || len(k.inFlight) > 0 {
		at := math.Inf(1)
		if len(k.inFlight) > 0 {
			at = k.inFlight[0].at
		}
		for len(order) > 0 && float64(k.w.spans[order[0]].startNS) <= at {
			k.begin(int(order[0]))
			order = order[1:]
			at = k.inFlight[0].at
		}
		k.instant(at)
	}
	for _, l := range k.metrics {
		k.hold(l, k.to)
	}
}

// begin adds a request to the heap.
func (k *walk) begin(i int) {
	var buffer []step
	if n := len(k.free); n > 0 {
		buffer, k.free = k.free[n-1], k.free[:n-1]
	}
	s := &k.w.spans[i]
	k.own = k.gapsAt.Append(k.own[:0], s.from, s.to)
	buffer = s.steps(buffer[:0], k.own, k.gaps)
	k.inFlight = append(k.inFlight, running{at: buffer[0].at, index: i, steps: buffer, buffer: buffer})
	for c := len(k.inFlight) - 1; c > 0; {
		p := (c - 1) / 2
		if !k.inFlight[c].before(&k.inFlight[p]) {
			break
		}
		k.inFlight[c], k.inFlight[p] = k.inFlight[p], k.inFlight[c]
		c = p
	}
}

// instant applies all steps of an instant.
func (k *walk) instant(at float64) {
	changed := uint(0)
	k.rising = k.rising[:0]
	for len(k.inFlight) > 0 && k.inFlight[0].at == at {
		top := &k.inFlight[0]
		s := top.steps[0]
		changed |= 1 << s.of
		if s.by > 0 {
			k.rising = append(k.rising, s)
		} else {
			k.step(s)
		}
		if top.steps = top.steps[1:]; len(top.steps) == 0 {
			k.free = append(k.free, top.buffer)
			last := len(k.inFlight) - 1
			k.inFlight[0] = k.inFlight[last]
			k.inFlight = k.inFlight[:last]
		} else {
			top.at = top.steps[0].at
		}
		k.siftDown()
	}
	for _, s := range k.rising {
		k.step(s)
	}
	for _, l := range k.metrics {
		if l.touched(changed) {
			k.hold(l, at)
			l.read(&k.now, &k.least)
		}
	}
}

func (k *walk) step(s step) {
	k.now[s.of] += s.by
	k.peaks[s.of] = max(k.peaks[s.of], math.Abs(k.now[s.of]))
}

// siftDown restores the order of the heap after its first element changed.
func (k *walk) siftDown() {
	n := len(k.inFlight)
	for p := 0; ; {
		c := 2*p + 1
		if c >= n {
			return
		}
		if c+1 < n && k.inFlight[c+1].before(&k.inFlight[c]) {
			c++
		}
		if !k.inFlight[c].before(&k.inFlight[p]) {
			return
		}
		k.inFlight[c], k.inFlight[p] = k.inFlight[p], k.inFlight[c]
		p = c
	}
}

// hold adds the current value of l with the time for which it held until at.
func (k *walk) hold(l *weighted, at float64) {
	begin, end := max(l.since, k.from), min(at, k.to)
	l.since = at
	if end > begin && l.on {
		l.hold(k.pass, l.value, end-begin)
	}
}
