package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/pkg/answer"
)

// The first tenth of a level's requests is compared with the rest if it has at least
// driftLeast requests. It differs if two conditions hold. Its median differs from the
// rest's by more than the share driftShare. And more of its k values lie on one side of
// the rest's median than chance puts there: k/2 and driftSigmas standard deviations, √k/2
// each.
const (
	driftLeast  = 10
	driftShare  = 0.2
	driftSigmas = 3
)

// An Unsteady is a reason why a level may not be in a steady state, so that a later or
// repeated measurement may differ.
type Unsteady struct {
	Brief string // in a few words, for a table
	text  string
	start bool // it is about the start of the level, which a selection could leave out
}

// Error returns the reason in full, with advice.
func (u *Unsteady) Error() string { return u.text }

// A timed holds the start of a request and its latencies; a missing latency is
// noLatency.
type timed struct {
	start      uint64
	ttft, e2el int64
}

const noLatency = math.MinInt64

func orNone(v answer.Value) int64 {
	if !v.OK {
		return noLatency
	}
	return v.V
}

// drift compares the first tenth of the requests, by their starts, with the others. It
// returns nil if they do not differ or are too few. It reorders x.
func drift(x []timed) *Unsteady {
	k := len(x) / 10
	if k < driftLeast {
		return nil
	}
	slices.SortFunc(x, func(a, b timed) int { return cmp.Compare(a.start, b.start) })
	for _, m := range []struct {
		name string
		of   func(*timed) int64
	}{{"TTFT", func(t *timed) int64 { return t.ttft }}, {"E2EL", func(t *timed) int64 { return t.e2el }}} {
		first, rest := latencies(x[:k], m.of), latencies(x[k:], m.of)
		if len(first) < driftLeast || len(rest) == 0 {
			continue
		}
		a, b := quantile.At(first, 0.5), quantile.At(rest, 0.5)
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
		if math.Abs(above-n/2) > driftSigmas*math.Sqrt(n)/2 && math.Abs(a-b) > driftShare*math.Abs(b) {
			medians := fmt.Sprintf("median %s %s, then %s", m.name, millis(a), millis(b))
			return &Unsteady{
				Brief: "first tenth: " + medians,
				text:  "the first tenth of the requests differs from the rest: " + medians,
				start: true,
			}
		}
	}
	return nil
}

// latencies returns the known values, sorted.
func latencies(x []timed, of func(*timed) int64) []int64 {
	v := make([]int64, 0, len(x))
	for i := range x {
		if l := of(&x[i]); l != noLatency {
			v = append(v, l)
		}
	}
	slices.Sort(v)
	return v
}

// millis writes nanoseconds for a message.
func millis(ns float64) string { return strconv.FormatFloat(ns/1e6, 'f', 2, 64) + " ms" }
