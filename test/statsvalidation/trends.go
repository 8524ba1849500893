package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/trend"
)

const (
	trendColumns = "builds | of equal builds with 1 accepted point: fail | 2 | 3 | 5 | 10 | trends in which a build fails | slower or failing build found with 3 | 5 | 10"
	trendRule    = "--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:"
)

// A trendCase is a history of equal builds, each judged by the builds before
// it, and accepted, as by pa-analyze trend --baseline --accept.
type trendCase struct {
	runs     int     // of a build
	day, run float64 // deviations, from day to day and from run to run
	// failing is the probability that a request fails. Then the gate is judged by failures alone.
	failing float64
	least   float64 // promised share of slower builds that are found with 10 accepted points
}

var trends = [...]trendCase{
	{runs: 1, run: 0.01, least: 0.85},
	{runs: 1, day: 0.01, run: 0.01, least: 0.5},
	{runs: 5, run: 0.01, least: 0.98},
	{runs: 5, day: 0.01, run: 0.01, least: 0.75},
	{runs: 5, day: 0.02, run: 0.005, least: 0.25},
	{runs: 1, day: 0.01, run: 0.01, failing: 0.02, least: 0.95},
}

const (
	trendBuilds = 20
	slowerBuild = 0.05 // change of the TTFT of the slower build
	// failingBuild is the share of requests that fail of the failing build, of failureRequests.
	failingBuild    = 0.15
	failureRequests = 100
)

// acceptedPoints holds the numbers of accepted points in the table.
var acceptedPoints = [...]int{1, 2, 3, 5, 10}

func (x *trendCase) name() string {
	name := fmt.Sprintf("%s, deviation of days %v %%, of runs %v %%", plural.Of(x.runs, "run"), 100*x.day, 100*x.run)
	if x.failing > 0 {
		return fmt.Sprintf("%s, %.0f %% of %d requests fail", name, 100*x.failing, failureRequests)
	}
	return name
}

// A trendResult is what the gate says in one history.
type trendResult struct {
	// equal and changed are the answers about the first build with so many accepted points, if it is
	// equal, and if it is slower or fails more; absent without such a build.
	equal, changed map[int]trend.Answer
	fails          bool // some equal build failed
}

// build makes the runs of a build.
func (x *trendCase) build(rng *rand.Rand, number int, slower, failing float64) trend.Point {
	day := servedLevel{math.Exp(x.day * rng.NormFloat64()), math.Exp(x.day * rng.NormFloat64())}.slower(slower)
	p := trend.Point{Label: fmt.Sprint("build ", number)}
	for run := range x.runs {
		r := recorded{second: 86_400*number + 60*run, requests: 4, failing: failing, levels: []servedLevel{{
			day.firstToken * math.Exp(x.run*rng.NormFloat64()), day.pace * math.Exp(x.run*rng.NormFloat64()),
		}}}
		if failing > 0 {
			r.requests = failureRequests
		}
		p.Runs = append(p.Runs, r.run(rng))
	}
	return p
}

// follow simulates one history.
func (x *trendCase) follow(rng *rand.Rand) trendResult {
	result := trendResult{equal: map[int]trend.Answer{}, changed: map[int]trend.Answer{}}
	o := trend.JudgeOptions{Margin: trend.DefaultMargin}
	var accepted []trend.Point
	for number := range trendBuilds {
		last := accepted[max(0, len(accepted)-trend.DefaultLast):]
		next := x.build(rng, number, 0, x.failing)
		j := trend.Judge(last, next, o)
		result.fails = result.fails || x.failed(j.Answer())
		if _, known := result.equal[len(last)]; !known && slices.Contains(acceptedPoints[:], len(last)) {
			result.equal[len(last)] = j.Answer()
			changed := x.build(rng, trendBuilds, slowerBuild, 0)
			if x.failing > 0 {
				changed = x.build(rng, trendBuilds, 0, failingBuild)
			}
			result.changed[len(last)] = trend.Judge(last, changed, o).Answer()
		}
		if j.Refusal(len(accepted) < trend.BurnIn, false) == nil {
			accepted = append(accepted, next)
		}
	}
	return result
}

// failed reports whether the gate finds that a build is worse; that it fails more, where requests fail.
func (x *trendCase) failed(a trend.Answer) bool {
	return a == trend.FailsMore || a == trend.Worse && x.failing == 0
}

func trendTable(s *simulation, r *report) {
	for i := range trends {
		x := &trends[i]
		var some share
		var equal, changed [len(acceptedPoints)]share
		for _, result := range repeat(s, "trend "+x.name(), max(1, s.shortReps()/2), x.follow) {
			some.add(result.fails)
			for k, points := range acceptedPoints {
				if answer, ok := result.equal[points]; ok {
					equal[k].add(x.failed(answer))
					changed[k].add(x.failed(result.changed[points]))
				}
			}
		}
		r.line("| %s |", x.name())
		for _, fails := range equal {
			r.line(" %v |", fails)
		}
		r.line(" %v | %v | %v | %v |\n", some, changed[2], changed[3], changed[4])

		most := alpha / 2 // the other half of the wrong findings are better
		if x.failing > 0 {
			most = mostMoreFailures
		}
		for k, fails := range equal {
			promised := most
			if acceptedPoints[k] < trend.LeastPoints && x.failing == 0 {
				promised = 0 // it is too early to tell
			}
			r.check(s.atMost(fails, promised), "trends: %s: %v of equal builds fail with %s", x.name(), fails, plural.Of(acceptedPoints[k], "accepted point"))
		}
		r.check(s.atMost(some, 1-math.Pow(1-most, trendBuilds)), "trends: %s: a build fails in %v of trends", x.name(), some)
		found := changed[len(changed)-1]
		r.check(s.atLeast(found, x.least), "trends: %s: %v of changed builds are found", x.name(), found)
	}
}
