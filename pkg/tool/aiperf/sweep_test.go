package aiperf

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// slowMetrics makes the metrics from all steps at once, every sum at every instant
// anew.
func slowMetrics(t *testing.T, w *sweeps, from, to float64, gaps *stat.List) []metric {
	t.Helper()
	var all []step
	for i := range w.spans {
		all = w.spans[i].steps(all, gaps.NewCursor().Append(nil, w.spans[i].from, w.spans[i].to), gaps.Len())
	}
	instants := []float64{from, to}
	for _, s := range all {
		if s.at > from && s.at < to {
			instants = append(instants, s.at)
		}
	}
	slices.Sort(instants)
	instants = slices.Compact(instants)
	type held struct{ value, ns float64 }
	var metrics []metric
	for _, x := range []struct {
		tag             string
		of, per, active quantity
		scale           float64
	}{
		{"effective_concurrency", requests, sums, sums, 1},
		{"effective_decode_throughput", decode, sums, sums, 1e9},
		{"effective_prefill_throughput", prefill, sums, sums, 1e9},
		{"effective_decode_concurrency", decoding, sums, sums, 1},
		{"effective_prefill_concurrency", prefilling, sums, sums, 1},
		{"effective_total_throughput", total, sums, sums, 1e9},
		{"effective_decode_throughput_per_user", decode, decoding, sums, 1e9},
		{"effective_prefill_throughput_per_user", prefill, prefilling, sums, 1e9},
		{"tokens_in_flight", inFlight, sums, sums, 1},
		{"active_decode_throughput", decode, sums, decoding, 1e9},
		{"active_prefill_throughput", prefill, sums, prefilling, 1e9},
		{"active_decode_throughput_per_user", decode, decoding, decoding, 1e9},
		{"active_prefill_throughput_per_user", prefill, prefilling, prefilling, 1e9},
		{"active_total_throughput", total, sums, requests, 1e9},
	} {
		m := none(x.tag)
		m.Avg, m.Min, m.Max, m.Std = 0, 0, 0, 0
		var levels []held
		ns := 0.0
		for i := range instants[1:] {
			at, now := instants[i], [sums + 1]float64{}
			for _, s := range all {
				if s.at <= at {
					now[s.of] += s.by
				}
			}
			for k := range now {
				if math.Abs(now[k]) < 1e-14 {
					now[k] = 0
				}
			}
			value := now[x.of]
			if x.per < sums {
				if value /= now[x.per]; now[x.per] == 0 {
					value = 0
				}
			}
			if x.active == sums || now[x.active] > 0 {
				levels = append(levels, held{value * x.scale, instants[i+1] - at})
				ns += instants[i+1] - at
			}
		}
		slices.SortFunc(levels, func(a, b held) int { return cmp.Compare(a.value, b.value) })
		for _, l := range levels {
			m.Avg += l.value * l.ns / ns
		}
		for _, l := range levels {
			m.Std += (l.value - m.Avg) * (l.value - m.Avg) * l.ns / ns
		}
		m.Std = math.Sqrt(m.Std)
		if len(levels) > 0 {
			m.Min, m.Max = levels[0].value, levels[len(levels)-1].value
		}
		for i, pct := range dialect.Percentiles {
			if pct < 50 || pct == 75 {
				continue
			}
			m.Pct[i] = 0
			below := 0.0
			for _, l := range levels {
				if m.Pct[i], below = l.value, below+l.ns; below/ns >= float64(pct)/100 {
					break
				}
			}
		}
		metrics = append(metrics, m)
	}
	return metrics
}

// The passes find what all steps at once give, of requests in any order, some of
// which begin or end together, within a part of the time and of all of it.
func TestSweeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for round := range 40 {
		var w sweeps
		gaps := stat.NewStore(0, "").NewList(stat.Whole)
		for range rng.IntN(8) {
			r := record{startNS: uint64(1000 + 64*rng.IntN(30)), ttft: int64(64 * rng.IntN(20)), input: int64(rng.IntN(50)), output: int64(rng.IntN(20)), hasInput: rng.IntN(5) > 0, hasOutput: rng.IntN(5) > 0}
			r.endNS = r.startNS + uint64(r.ttft)
			for range rng.IntN(6) * (round % 4) { // every fourth run has no second chunk at all
				r.gaps = append(r.gaps, int64(64*rng.IntN(4)))
				r.endNS += uint64(r.gaps[len(r.gaps)-1])
			}
			r.endNS += uint64(64 * rng.IntN(3))
			streamed := rng.IntN(6) > 0
			if streamed {
				gaps.Add(r.gaps...)
			} else {
				r.gaps = nil
			}
			w.add(&r, streamed, gaps.Len())
			if rng.IntN(4) == 0 {
				w.failed(r.startNS, r.endNS)
			}
		}
		from, to := float64(1000+rng.IntN(2)*500), float64(3000+rng.IntN(2)*2000)
		got, want := w.metrics(releases[0].steps, from, to, gaps), slowMetrics(t, &w, from, to, gaps)
		near := func(x, y float64) bool {
			return math.Abs(x-y) <= 1e-9*max(1, math.Abs(y)) || math.IsNaN(x) && math.IsNaN(y)
		}
		for i := range want {
			g, w := &got[i], &want[i]
			same := g.Tag == w.Tag && near(g.Avg, w.Avg) && near(g.Std, w.Std) && near(g.Min, w.Min) && near(g.Max, w.Max)
			for k := range dialect.Percentiles {
				same = same && near(g.Pct[k], w.Pct[k])
			}
			if !same {
				t.Fatalf("round %d: %+v, want %+v", round, *g, *w)
			}
		}
	}
}
