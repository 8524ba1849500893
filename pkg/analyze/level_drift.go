package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// The first tenth of a level's requests is compared with the rest if it has at least
// driftLeast requests. It differs if two conditions hold. Its median differs from the
// rest's by more than the share driftShare. And more of its k values lie on one side of
// the rest's median than chance puts there: k/2 and driftSigmas standard deviations, √k/2
// each if the requests are independent. If the rest shows that they depend on each other, the tenth is worth
// fewer than k, and the deviation is as much larger.
const (
	driftLeast  = 10
	driftShare  = 0.2
	driftSigmas = 3
)

// requestLatencies holds the start of a counted request and its latencies; a missing latency is
// [export.Missing].
type requestLatencies struct {
	start      uint64
	ttft, e2el int64
}

// steadyMetrics are the latencies that a steady level keeps.
var steadyMetrics = []struct {
	name string
	of   func(*requestLatencies) int64
}{{"TTFT", func(t *requestLatencies) int64 { return t.ttft }}, {"E2EL", func(t *requestLatencies) int64 { return t.e2el }}}

// drift compares the first tenth of the requests, by their starts, with the others. It
// returns nil if they do not differ or are too few. It reorders x.
func drift(x []requestLatencies) *Unsteady {
	k := len(x) / 10
	if k < driftLeast {
		return nil
	}
	slices.SortFunc(x, func(a, b requestLatencies) int { return cmp.Compare(a.start, b.start) })
	for _, m := range steadyMetrics {
		first, rest := sortedLatencies(x[:k], m.of), sortedLatencies(x[k:], m.of)
		if len(first) < driftLeast || len(rest) == 0 {
			continue
		}
		a, b := stat.Quantile(first, 0.5), stat.Quantile(rest, 0.5)
		above := 0.0 // values on the median count half
		for _, v := range first {
			switch {
			case float64(v) > b:
				above++
			case float64(v) == b:
				above += 0.5
			}
		}
		n := float64(len(first))
		if share := math.Abs(above/n - 0.5); math.Abs(a-b) > driftShare*math.Abs(b) && share > driftSigmas/(2*math.Sqrt(n)) &&
			share > driftSigmas/(2*math.Sqrt(inference.NewSeries(latencies(x[k:], m.of)).EffectivePart(len(first)))) {
			medians := fmt.Sprintf("median %s %s, then %s", m.name, millis(a), millis(b))
			return &Unsteady{
				Brief: "first tenth: " + medians,
				text:  "the first tenth of the requests differs from the rest: " + medians,
				first: k,
			}
		}
	}
	return nil
}

// unsettled returns further reasons why a level was not in a steady state, which take longer to find: first
// requests that took longer than the others, latencies that drift, and last requests that took longer. differs says that the first tenth of
// the requests differs, which is then left out. It reorders x.
func unsettled(x []requestLatencies, differs bool) (all []*Unsteady) {
	slices.SortFunc(x, func(a, b requestLatencies) int { return cmp.Compare(a.start, b.start) })
	if differs {
		x = x[len(x)/10:]
	}
	for _, m := range steadyMetrics {
		values := latencies(x, m.of)
		s := inference.StartOf(values)
		if differs || !s.Differs() {
			continue
		}
		from, to := millis(inference.MeanOfRuns(values[:s.N])), millis(inference.MeanOfRuns(values[s.N:]))
		what := "the first request took"
		if s.N > 1 {
			what = "the first " + plural.GroupedOf(s.N, "request") + " took"
		}
		text := fmt.Sprintf("%s %.1f times as long as the rest: %s %s, then %s on average", what, s.Factor, m.name, from, to)
		all = append(all, &Unsteady{Brief: text, text: text, first: s.N})
		x = x[min(s.N, len(x)):]
		break
	}
	for _, m := range steadyMetrics {
		if s := inference.SlopeOf(latencies(x, m.of)); s.Drifts() {
			text := fmt.Sprintf("%s drifts: it changes by %+.0f %% from the first request to the last, which chance does not explain", m.name, 100*s.Change)
			return append(all, &Unsteady{Brief: text, text: text + "; find the cause, or warm up longer"})
		}
	}
	for _, m := range steadyMetrics {
		values := latencies(x, m.of)
		slices.Reverse(values)
		if s := inference.StartOf(values); s.Differs() {
			text := fmt.Sprintf("the last %s took %.1f times as long as the rest: %s %s, then %s on average", plural.GroupedOf(s.N, "request"), s.Factor,
				m.name, millis(inference.MeanOfRuns(values[s.N:])), millis(inference.MeanOfRuns(values[:s.N])))
			return append(all, &Unsteady{Brief: text, text: text + "; find the cause, or --trim-end leaves them out"})
		}
	}
	return all
}

// latencies returns the known values, in the order of x.
func latencies(x []requestLatencies, of func(*requestLatencies) int64) []float64 {
	v := make([]float64, 0, len(x))
	for i := range x {
		if l := of(&x[i]); l != export.Missing {
			v = append(v, float64(l))
		}
	}
	return v
}

// sortedLatencies returns the known values, sorted.
func sortedLatencies(x []requestLatencies, of func(*requestLatencies) int64) []int64 {
	v := make([]int64, 0, len(x))
	for i := range x {
		if l := of(&x[i]); l != export.Missing {
			v = append(v, l)
		}
	}
	slices.Sort(v)
	return v
}

// millis writes nanoseconds for a message.
func millis(ns float64) string { return strconv.FormatFloat(ns/1e6, 'f', 2, 64) + " ms" }
