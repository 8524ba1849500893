package aiperf

import (
	"math"
	"slices"
)

// A step is a change at an instant, in Unix nanoseconds.
type step struct{ at, by float64 }

// A sweep is the sum of steps over time.
type sweep struct {
	steps []step
	// peak is the largest sum, also one that held for no time: at one instant,
	// what is added is added first.
	peak float64
}

// between adds a value from one instant to another.
func (s *sweep) between(from, to, value float64) {
	s.steps = append(s.steps, step{from, value}, step{to, -value})
}

// level sorts the steps, joins those of one instant and makes each the value
// that holds from then on.
func (s *sweep) level() {
	slices.SortStableFunc(s.steps, func(a, b step) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		case a.by > 0 && b.by < 0:
			return -1
		case a.by < 0 && b.by > 0:
			return 1
		}
		return 0
	})
	levels, value := s.steps[:0], 0.0
	for _, x := range s.steps {
		value += x.by
		s.peak = max(s.peak, value)
		if n := len(levels); n > 0 && levels[n-1].at == x.at {
			levels[n-1].by = value
		} else {
			levels = append(levels, step{x.at, value})
		}
	}
	// What additions and subtractions leave of nothing.
	for i := range levels {
		if math.Abs(levels[i].by) < 1e-9 {
			levels[i].by = 0
		}
	}
	s.steps = levels
}

// A held is a value and how long it held.
type held struct{ value, ns float64 }

// during appends to out what was held from one instant to another: the values of s,
// divided by those of per where there is one (0 where that is 0), and only while
// active, where there is one, is not 0. All are leveled.
func (s *sweep) during(out []held, from, to float64, per, active *sweep) []held {
	all := []*sweep{s}
	for _, o := range [...]*sweep{per, active} {
		if o != nil {
			all = append(all, o)
		}
	}
	next := make([]int, len(all))
	now := make([]float64, len(all))
	for at := from; at < to; {
		end := to
		for i, o := range all {
			for next[i] < len(o.steps) && o.steps[next[i]].at <= at {
				now[i] = o.steps[next[i]].by
				next[i]++
			}
			if next[i] < len(o.steps) {
				end = min(end, o.steps[next[i]].at)
			}
		}
		v := now[0]
		if per != nil {
			if v = 0; now[1] != 0 {
				v = now[0] / now[1]
			}
		}
		if active == nil || now[len(now)-1] != 0 {
			out = append(out, held{v, end - at})
		}
		at = end
	}
	return out
}

// weighted returns the statistics of values by how long they held; ok is false
// when there is no time. A percentile is the smallest value that is not exceeded
// for that part of the time.
func weighted(tag string, x []held) (m Metric, ok bool) {
	m = none(tag)
	total, sum := 0.0, 0.0
	for _, h := range x {
		total += h.ns
		sum += h.value * h.ns
	}
	if total <= 0 {
		return m, false
	}
	m.Avg = sum / total
	squares := 0.0
	for _, h := range x {
		squares += (h.value - m.Avg) * (h.value - m.Avg) * h.ns
	}
	m.Std = math.Sqrt(squares / total)
	slices.SortStableFunc(x, func(a, b held) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	m.Min, m.Max = x[0].value, x[len(x)-1].value
	passed, at := 0.0, 0
	for i, pct := range percentiles {
		if pct < 50 || pct == 75 {
			continue
		}
		for ; at < len(x)-1 && (passed+x[at].ns)/total < float64(pct)/100; at++ {
			passed += x[at].ns
		}
		m.pct[i] = x[at].value
	}
	return m, true
}

// sweeps are what all requests do over time.
type sweeps struct {
	requests, prefilling, decoding sweep // how many
	prefill, decode, total         sweep // tokens per second
	tokens                         sweep // of prompts and answers under way
}

// add takes a successful request with tokens. Tokens come with the chunks: the
// first with the first, the others in equal parts with the rest. Those of chunks
// that came in one read are spread over the other gaps, for the rate.
func (w *sweeps) add(r *record) {
	start, first, end := float64(r.startNS), float64(r.startNS+uint64(r.ttft)), float64(r.endNS)
	w.prefilling.between(start, first, 1)
	w.decoding.between(first, end, 1)
	in, out := float64(r.input), float64(r.output)
	if first > start {
		rate := in / (first - start) * 1e9
		w.prefill.between(start, first, rate)
		w.total.between(start, first, rate)
	}
	if end > first && out > 1 {
		w.total.between(first, end, (out-1)/(end-first)*1e9)
	}
	w.tokens.steps = append(w.tokens.steps, step{start, in}, step{first, 1}, step{end, -in - out})
	if len(r.gaps) == 0 || out <= 1 {
		w.tokens.steps = append(w.tokens.steps, step{end, out - 1})
		return
	}
	apart := 0
	for _, g := range r.gaps {
		if g > 0 {
			apart++
		}
	}
	passed := 0.0
	for _, g := range r.gaps {
		gap := float64(g)
		passed += gap
		at := first + passed
		w.tokens.steps = append(w.tokens.steps, step{at, (out - 1) / float64(len(r.gaps))})
		if gap > 0 {
			w.decode.between(at-gap, at, (out-1)/float64(apart)/gap*1e9)
		}
	}
}

// metrics returns the effective and the active metrics from one instant to
// another.
func (w *sweeps) metrics(from, to float64) []Metric {
	for _, s := range [...]*sweep{&w.requests, &w.prefilling, &w.decoding, &w.prefill, &w.decode, &w.total, &w.tokens} {
		s.level()
	}
	var all []Metric
	var buf []held // of one metric after the other
	for _, x := range []struct {
		tag            string
		s, per, active *sweep
	}{
		{"effective_concurrency", &w.requests, nil, nil},
		{"effective_decode_throughput", &w.decode, nil, nil},
		{"effective_prefill_throughput", &w.prefill, nil, nil},
		{"effective_decode_concurrency", &w.decoding, nil, nil},
		{"effective_prefill_concurrency", &w.prefilling, nil, nil},
		{"effective_total_throughput", &w.total, nil, nil},
		{"effective_decode_throughput_per_user", &w.decode, &w.decoding, nil},
		{"effective_prefill_throughput_per_user", &w.prefill, &w.prefilling, nil},
		{"tokens_in_flight", &w.tokens, nil, nil},
		{"active_decode_throughput", &w.decode, nil, &w.decoding},
		{"active_prefill_throughput", &w.prefill, nil, &w.prefilling},
		{"active_decode_throughput_per_user", &w.decode, &w.decoding, &w.decoding},
		{"active_prefill_throughput_per_user", &w.prefill, &w.prefilling, &w.prefilling},
		{"active_total_throughput", &w.total, nil, &w.requests},
	} {
		buf = x.s.during(buf[:0], from, to, x.per, x.active)
		if m, ok := weighted(x.tag, buf); ok {
			if x.s == &w.tokens {
				m.Max = w.tokens.peak
			}
			all = append(all, m)
		}
	}
	return all
}
