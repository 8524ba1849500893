package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// margin is the change within which two sides count as equal.
const margin = 0.05

// mostMoreFailures is the largest promised share of comparisons of sides that fail alike in which one
// side seems to fail more.
const mostMoreFailures = 0.013

// mostOutlying is the largest promised share of comparisons of normal runs in which a run is named, if
// both sides deviate alike; and if one deviates three times as much.
const (
	mostOutlying       = 0.01
	mostOutlyingUneven = 0.03
)

// logNormalRuns returns values of runs that deviate so much, the first one times first.
func logNormalRuns(rng *rand.Rand, runs int, deviation, first float64) []float64 {
	values := make([]float64, runs)
	for i := range values {
		values[i] = math.Exp(deviation * rng.NormFloat64())
	}
	values[0] *= first
	return values
}

// within counts how often sides of so many runs are shown to be within the margin, if they are equal
// and if they differ by the margin.
func within(s *simulation, runs int, deviation float64) (equal, different share) {
	shown := func(older, newer []float64) bool {
		c := inference.Welch(older, newer)
		ends := c.Within()
		return ends.Low > 1/(1+margin)-1 && ends.High < margin
	}
	for _, r := range repeat(s, fmt.Sprintf("within %d %v", runs, deviation), s.shortReps(), func(rng *rand.Rand) [2]bool {
		older, newer := logNormalRuns(rng, runs, deviation, 1), logNormalRuns(rng, runs, deviation, 1)
		slower := make([]float64, runs)
		for i := range slower {
			slower[i] = newer[i] * (1 + margin)
		}
		return [2]bool{shown(older, newer), shown(older, slower)}
	}) {
		equal.add(r[0])
		different.add(r[1])
	}
	return equal, different
}

func withinTable(s *simulation, r *report) {
	for _, deviation := range []float64{0.01, 0.02, 0.03, 0.05} {
		enough := inference.RunsForEquivalence(deviation, margin)
		for _, runs := range []int{5, enough} {
			if runs == enough && enough == 5 {
				continue
			}
			equal, different := within(s, runs, deviation)
			name := fmt.Sprintf("%d runs a side, deviation %.0f %%", runs, 100*deviation)
			r.line("| %s | %v | %v |\n", name, equal, different)
			r.check(different.within(0, alpha+2*math.Sqrt(alpha*(1-alpha)/float64(different.of))), "within a margin: %s: %v of different sides", name, different)
			r.check(runs < enough || equal.within(0.78, 1), "within a margin: %s: %v of equal sides", name, equal)
		}
	}
}

func failuresTable(s *simulation, r *report) {
	for _, x := range []struct {
		older, newer       int // requests
		oldShare, newShare float64
		least, most        float64 // promised
	}{
		{100, 100, 0.02, 0.02, 0, mostMoreFailures},
		{300, 100, 0.02, 0.02, 0, mostMoreFailures},
		{2000, 100, 0.02, 0.02, 0, mostMoreFailures},
		{60, 60, 0.2, 0.2, 0, mostMoreFailures},
		{60, 60, 0, 0.2, 0.98, 1},
		{300, 300, 0, 0.05, 0.98, 1},
		{180, 180, 0, 0.5, 1, 1},
	} {
		count := func(rng *rand.Rand, n int, share float64) (failed int) {
			for range n {
				if rng.Float64() < share {
					failed++
				}
			}
			return failed
		}
		requests, shares := fmt.Sprintf("%d and %d", x.older, x.newer), fmt.Sprintf("%.0f and %.0f %%", 100*x.oldShare, 100*x.newShare)
		var found share
		for _, more := range repeat(s, "failures "+requests+" "+shares, s.shortReps(), func(rng *rand.Rand) bool {
			return inference.FailsMore(count(rng, x.older, x.oldShare), x.older, count(rng, x.newer, x.newShare), x.newer)
		}) {
			found.add(more)
		}
		r.line("| %s | %s | %v |\n", requests, shares, found)
		r.check(found.within(x.least, x.most), "failures: %s requests, %s: %v", requests, shares, found)
	}
}

func outlyingTable(s *simulation, r *report) {
	for _, x := range []struct {
		runs        int // a side
		deviations  [2]float64
		first       [2]float64 // factors of the first runs
		least, most float64    // promised
	}{
		{5, [2]float64{0.01, 0.01}, [2]float64{1, 1}, 0, mostOutlying},
		{5, [2]float64{0.1, 0.1}, [2]float64{1, 1}, 0, mostOutlying},
		{10, [2]float64{0.1, 0.1}, [2]float64{1, 1}, 0, mostOutlying},
		{5, [2]float64{0.1, 0.03}, [2]float64{1, 1}, 0, mostOutlyingUneven},
		{5, [2]float64{0.01, 0.01}, [2]float64{1.5, 1}, 0.99, 1},
		{5, [2]float64{0.01, 0.01}, [2]float64{1.5, 1.5}, 0.99, 1},
		{4, [2]float64{0.01, 0.01}, [2]float64{1.5, 1.5}, 0.98, 1},
		{5, [2]float64{0.03, 0.03}, [2]float64{1.5, 1}, 0, 1},
		{5, [2]float64{0.1, 0.1}, [2]float64{80, 1}, 0.99, 1},
	} {
		name := fmt.Sprintf("%d runs a side, deviation %.0f and %.0f %%, first runs times %v and %v", x.runs, 100*x.deviations[0], 100*x.deviations[1], x.first[0], x.first[1])
		var named share
		for _, some := range repeat(s, "outlying "+name, s.shortReps(), func(rng *rand.Rand) bool {
			older := logNormalRuns(rng, x.runs, x.deviations[0], x.first[0])
			newer := logNormalRuns(rng, x.runs, x.deviations[1], x.first[1])
			return len(inference.OutlyingRuns(older, newer)) > 0
		}) {
			named.add(some)
		}
		r.line("| %s | %v |\n", name, named)
		r.check(named.within(x.least, x.most), "outlying runs: %s: %v", name, named)
	}
}
