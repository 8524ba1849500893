package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// A simulated side has runs whose values are drawn, without requests.
type simulated struct {
	runs   int
	levels int
	after  bool // recorded after the other side, not in turn
	// ln returns ln(TTFT/100 ms) of a run at a level. place is the run's place among all runs of both sides.
	ln func(run, level int, place float64) float64
}

// make draws the runs of a side. The three metrics that are judged follow TTFT in part.
func (s simulated) make(random *rand.Rand, side int) []*Run {
	var runs []*Run
	for run := range s.runs {
		place := 2*run + side
		if s.after {
			place = run + side*s.runs
		}
		r := &Run{Name: fmt.Sprintf("%d-%d", side, run), Header: &export.Run{}, firstNS: uint64(place+1) * 1e12, requests: 60}
		for level := range s.levels {
			l := RunLevel{Mode: "concurrency", Value: fmt.Sprint(level + 1), OK: 60, DurationNS: 1e10, Run: r}
			for i := range l.values {
				l.values[i] = math.NaN()
			}
			ln := s.ln(run, level, float64(place))
			for key, value := range map[string]float64{
				"ttft_p50": 1e8 * math.Exp(ln), "tpot_p50": 2e7 * math.Exp(0.01*random.NormFloat64()), "e2el_p50": 2e8 * math.Exp(ln/2+0.003*random.NormFloat64()),
				"output_tokens_per_s": 100 * math.Exp(-ln/2+0.003*random.NormFloat64()), KeyFailedShare: 0,
			} {
				l.values[slices.IndexFunc(Metrics[:], func(m *Metric) bool { return m.Key == key })] = value
			}
			for q := range l.n {
				l.n[q] = 60
			}
			r.Levels = append(r.Levels, l)
		}
		runs = append(runs, r)
	}
	return runs
}

// The answers keep their promises in simulations: the shares of answers for runs that differ by chance, with a true
// change, over levels, and one side after the other. The slack is 3 standard deviations.
func TestPromises(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	comparisons := 25
	if testenv.IsLong() {
		comparisons = 1000
	}
	type shares map[Answer][2]float64
	for name, tt := range map[string]struct {
		runs, levels int
		deviation    float64
		effect       float64                 // of ln(TTFT) on the new side
		at           func(level int) float64 // of a level; nil means effect
		drift        float64                 // from one run to the next of either side
		after        bool
		want         shares
	}{
		"no change":        {runs: 5, levels: 1, deviation: 0.01, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}, NoDifference: {0.9, 1}}},
		"no change, noisy": {runs: 5, levels: 1, deviation: 0.05, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}, CannotTell: {0.85, 1}}},
		"a change of the margin is not no difference":  {runs: 5, levels: 1, deviation: 0.01, effect: math.Log(1.05), want: shares{NoDifference: {0, 0.05}, Better: {0, 0.01}, Worse: {0.9, 1}}},
		"the margin, noisy":                            {runs: 5, levels: 1, deviation: 0.03, effect: math.Log(1.05), want: shares{NoDifference: {0, 0.05}}},
		"no change at 4 levels":                        {runs: 5, levels: 4, deviation: 0.01, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}, NoDifference: {0.9, 1}}},
		"no change at 8 levels, 3 runs":                {runs: 3, levels: 8, deviation: 0.02, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}, BetterAndWorse: {0, 0.03}}},
		"a change at all of 8 levels":                  {runs: 5, levels: 8, deviation: 0.03, effect: math.Log(1.05), want: shares{Worse: {0.95, 1}}},
		"a change at one of 8 levels":                  {runs: 5, levels: 8, deviation: 0.01, at: func(level int) float64 { return map[int]float64{5: math.Log(1.1)}[level] }, want: shares{Worse: {0.9, 1}}},
		"one side after the other, no change":          {runs: 5, levels: 1, deviation: 0.01, after: true, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}, NoDifference: {0.8, 1}}},
		"one side after the other, a change":           {runs: 5, levels: 1, deviation: 0.01, effect: math.Log(1.05), after: true, want: shares{Worse: {0.9, 1}}},
		"one side after the other, drift, no change":   {runs: 5, levels: 1, deviation: 0.003, drift: 0.01, after: true, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}}},
		"in turn, drift, no change":                    {runs: 5, levels: 1, deviation: 0.003, drift: 0.01, want: shares{Worse: {0, 0.05}, Better: {0, 0.05}}},
		"one side after the other, drift, much change": {runs: 5, levels: 1, deviation: 0.003, drift: 0.01, effect: math.Log(1.3), after: true, want: shares{Worse: {0.95, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(11, uint64(len(name))))
			got := map[Answer]int{}
			specials := 0
			for range comparisons {
				var sides [2][]*Run
				for side := range sides {
					s := simulated{tt.runs, tt.levels, tt.after, func(_, level int, place float64) float64 {
						v := tt.deviation*random.NormFloat64() + tt.drift*place
						switch {
						case side == 1 && tt.at != nil:
							v += tt.at(level)
						case side == 1:
							v += tt.effect
						}
						return v
					}}
					sides[side] = s.make(random, side)
				}
				res := Compare(sides[0], sides[1], Options{})
				got[res.Answer]++
				if slices.ContainsFunc(res.special, func(s special) bool { return s.metric.Key == "ttft_p50" }) {
					specials++
				}
			}
			for answer, share := range tt.want {
				had := float64(got[answer]) / float64(comparisons)
				slack := func(p float64) float64 { return 3 * math.Sqrt(p*(1-p)/float64(comparisons)) }
				if had < share[0]-slack(share[0]) || had > share[1]+slack(share[1]) {
					t.Errorf("%v in %.1f %%, want %v; all: %v", answer, 100*had, share, got)
				}
			}
			if tt.levels > 1 && tt.at == nil && float64(specials) > float64(comparisons)*0.05+3*math.Sqrt(float64(comparisons)*0.05) {
				t.Errorf("in %d of %d comparisons a level differs from the others, and none does", specials, comparisons)
			}
		})
	}
}

// An outlying run is named, the comparison without it has an answer, and equal runs have none.
func TestOutlying(t *testing.T) {
	t.Parallel()
	const comparisons = 20
	for name, tt := range map[string]struct {
		factor, effect float64
		levels         int
		named          [2]int // least and most comparisons
		without        Answer
	}{
		"cold":          {1.5, 0, 1, [2]int{18, 20}, NoDifference},
		"cold, slower":  {1.5, math.Log(1.05), 1, [2]int{18, 20}, Worse},
		"cold, 4":       {1.5, math.Log(1.05), 4, [2]int{18, 20}, Worse},
		"no cold run":   {1, 0, 1, [2]int{0, 1}, CannotTell},
		"no cold run 4": {1, 0, 4, [2]int{0, 1}, CannotTell},
	} {
		random := rand.New(rand.NewPCG(5, 5))
		named, right := 0, 0
		for range comparisons {
			var sides [2][]*Run
			for side := range sides {
				s := simulated{5, tt.levels, false, func(run, _ int, _ float64) float64 {
					v := 0.01*random.NormFloat64() + tt.effect*float64(side)
					if run == 0 && side == 0 {
						v += math.Log(tt.factor)
					}
					return v
				}}
				sides[side] = s.make(random, side)
			}
			res := Compare(sides[0], sides[1], Options{})
			if len(res.Outlying) == 1 && res.Outlying[0].Run == "old.1" && res.Answer == CannotTell || tt.factor == 1 && len(res.Outlying) > 0 {
				named++
			}
			if res.Without != nil && res.Without.Answer == tt.without {
				right++
			}
		}
		if named < tt.named[0] || named > tt.named[1] || tt.factor > 1 && right < 17 {
			t.Errorf("%s: named in %d, and without them right in %d of %d", name, named, right, comparisons)
		}
	}
}

// The interval of an answer of no difference, and of verdicts, is read in both directions alike.
func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		low, high, margin float64
		want              bool
	}{
		{-0.04, 0.049, 0.05, true},
		{-0.047, 0.01, 0.05, true},
		{-0.048, 0.01, 0.05, false},
		{0, 0.05, 0.05, false},
		{math.Inf(-1), 0, 0.05, false},
		{math.NaN(), math.NaN(), 0.05, false},
		{0, 0, 0.05, true},
	} {
		if got := within(inference.Interval{Low: tt.low, High: tt.high}, tt.margin); got != tt.want {
			t.Errorf("%v to %v within %v: %v", tt.low, tt.high, tt.margin, got)
		}
	}
}
