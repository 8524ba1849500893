package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A sweepCase is a comparison of two sweeps of four levels.
type sweepCase struct {
	runs   int // a side
	change [sweepLevels]float64
	least  float64 // promised share of sweeps in which the change is found
}

const sweepLevels = 4

// sweepRequests is the number of requests at each level of a sweep with one run a side.
const sweepRequests = 60

// sweeps are the sweeps of the table.
var sweeps = [...]sweepCase{
	{runs: 1},
	{runs: 5},
	{runs: 1, change: [sweepLevels]float64{0, 0, 0.2, 0}, least: 0.95},
	{runs: 5, change: [sweepLevels]float64{0, 0, 0.1, 0}, least: 0.95},
	{runs: 1, change: [sweepLevels]float64{0.1, 0.1, 0.1, 0.1}, least: 0.85},
	{runs: 5, change: [sweepLevels]float64{0.05, 0.05, 0.05, 0.05}, least: 0.95},
}

// equal reports whether no level changes; same reports whether all levels change alike.
func (x *sweepCase) equal() bool { return x.change == [sweepLevels]float64{} }
func (x *sweepCase) same() bool  { return slices.Min(x.change[:]) == slices.Max(x.change[:]) }

func (x *sweepCase) name() string {
	switch {
	case x.equal():
		return "equal"
	case x.same():
		return fmt.Sprintf("TTFT %+.0f %% at all levels", 100*x.change[0])
	}
	return fmt.Sprintf("TTFT %+.0f %% at one level", 100*slices.Max(x.change[:]))
}

// A sweepResult is what a comparison of sweeps says.
type sweepResult struct {
	wrong bool // a difference that there is not, at any level or over all of them
	found bool // the change, at each level that has it or over all levels
	apart bool // the answer names a level that differs from the others
	right bool // the answer names only the level with the change
}

// compare simulates one comparison. A run of several deviates by 1 % at each level.
func (x *sweepCase) compare(rng *rand.Rand) (result sweepResult) {
	var sides [2][]*diff.Run
	for side := range sides {
		for run := range x.runs {
			r := recorded{second: 10_000 * (2*run + side), requests: 4}
			deviation := runEffect
			if x.runs == 1 {
				r.series, r.requests, deviation = true, sweepRequests, 0
			}
			for _, change := range x.change {
				l := servedLevel{math.Exp(deviation * rng.NormFloat64()), math.Exp(deviation * rng.NormFloat64())}
				if side == 1 {
					l = l.slower(change)
				}
				r.levels = append(r.levels, l)
			}
			sides[side] = append(sides[side], r.run(rng))
		}
	}
	result = x.judge(diff.Compare(sides[0], sides[1], diff.Options{}))
	for _, run := range slices.Concat(sides[0], sides[1]) {
		if err := run.Close(); err != nil {
			panic(err) // its values are in memory
		}
	}
	return result
}

// specialLevel finds the levels that the sentence about a sweep says to differ from the others.
var specialLevel = regexp.MustCompile(`(?:more|less) at concurrency (\d+): `)

func (x *sweepCase) judge(res *diff.Result) (result sweepResult) {
	finds := func(l *diff.LevelDiff) bool {
		return slices.ContainsFunc(l.Rows, func(r *diff.Row) bool {
			return r.Verdict == inference.Worse || r.Verdict == inference.Better || r.Verdict == inference.Different
		})
	}
	if all := res.Together; all != nil && finds(all) {
		result.found, result.wrong = x.same(), x.equal()
	}
	for i := range res.Levels {
		if finds(res.Levels[i]) {
			result.found = result.found || x.change[i] > 0
			result.wrong = result.wrong || x.change[i] == 0
		}
	}
	special := specialLevel.FindAllStringSubmatch(res.Headline(), -1)
	result.right = len(special) > 0
	for _, m := range special {
		result.apart = true
		i := slices.IndexFunc(x.change[:], func(change float64) bool { return change > 0 })
		result.right = result.right && !x.same() && m[1] == levelName(i)
	}
	return result
}

func sweepTable(s *simulation, r *report) {
	for i := range sweeps {
		x := &sweeps[i]
		name := fmt.Sprintf("%s a side, %s", plural.Of(x.runs, "run"), x.name())
		var wrong, found, right, apart share
		reps := s.shortReps()
		if x.runs == 1 {
			reps = max(1, reps/10) // intervals of single runs take long
		}
		for _, result := range repeat(s, "sweep "+name, reps, x.compare) {
			wrong.add(result.wrong)
			if !x.equal() {
				found.add(result.found)
			}
			apart.add(result.apart && !result.right)
			if !x.same() && x.runs > 1 {
				right.add(result.right)
			}
		}
		r.line("| %s | %v | %v | %v | %v |\n", name, wrong, found, apart, right)
		r.check(s.atMost(wrong, alpha), "sweeps: %s: %v wrong verdicts", name, wrong)
		r.check(found.of == 0 || s.atLeast(found, x.least), "sweeps: %s: %v found", name, found)
		r.check(s.atMost(apart, alpha), "sweeps: %s: in %v the answer names a wrong level", name, apart)
	}
}
